"""Examples of a model's fillings: sentences of the documents asked for, true words, candidates by probability."""

import numpy as np
import torch

from unmask.data.ragged import pack
from unmask.data.store import Store
from unmask.model.bert import Bert
from unmask.model.config import BertConfig
from unmask.model.heads import BertWithHead, make_head
from unmask.tasks.objectives import words_head
from unmask.tasks.showing import LONGEST, SHORTEST, show
from unmask.text.tokenizer import Tokenizer


def make(tokenizer: Tokenizer, spare: int = 0) -> BertWithHead:
    size = tokenizer.size + spare
    config = BertConfig(vocabulary_size=size, width=16, layers=1, heads=2, feed_forward=32, initial_deviation=0.5)
    return BertWithHead(Bert(config), make_head("pretraining", config))


def test_each_example_is_a_sentence_of_a_chosen_document_with_one_word_hidden(
    store: Store, tokenizer: Tokenizer
) -> None:
    documents = np.array([1, 4, 9, 13, 17, 21])
    borders = [store.document_sentences[document : document + 2] for document in documents]
    sentences = [
        tokenizer.decode(store.tokens(*store.sentence_tokens[number : number + 2]).tolist())
        for first, stop in borders
        for number in range(first, stop)
    ]
    examples = show(make(tokenizer), store, documents, tokenizer)
    assert len(examples) == 5
    for example in examples:
        assert example.text.replace("[MASK]", example.word) in sentences
        assert SHORTEST <= len(tokenizer.encode(example.text).ids) - 2 <= LONGEST
        assert example.word.isalpha()


def test_candidates_are_the_heads_likeliest_pieces(store: Store, tokenizer: Tokenizer) -> None:
    model = make(tokenizer, spare=9)
    example, *_ = show(model, store, np.arange(6), tokenizer)
    ids = tokenizer.encode(example.text).ids
    with torch.no_grad():
        logits = words_head(model.head)(model.bert(pack([ids])))[ids.index(tokenizer.mask_id)]
    probabilities = logits[: tokenizer.size].softmax(-1)
    best = probabilities.topk(3)
    assert list(example.candidates) == [tokenizer.pieces[id] for id in best.indices.tolist()]
    np.testing.assert_allclose(list(example.candidates.values()), best.values.numpy(), atol=1e-4)


def test_every_model_is_shown_the_same_sentences(store: Store, tokenizer: Tokenizer) -> None:
    first, second = (show(make(tokenizer, spare), store, np.arange(20), tokenizer) for spare in (0, 5))
    assert [example.text for example in first] == [example.text for example in second]
    assert len({example.text for example in first}) == len(first)


def test_no_documents_are_no_examples(store: Store, tokenizer: Tokenizer) -> None:
    assert show(make(tokenizer), store, np.arange(0), tokenizer) == ()
