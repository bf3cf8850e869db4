"""Scoring: against a loop that hides one piece at a time and asks transformers."""

import json
import math

import pytest
import torch
import transformers
from products import need_products_in

from unmask.apps.score import Scorer
from unmask.errors import InputError
from unmask.model.heads import BertWithHead
from unmask.text.tokenizer import Tokenizer

TEXTS = [
    "the cat sat on the mat.",
    "it was unable, and she walked",
    "天地人",
    "unables",
    "rain",
    "a cat sat on a mat .",
]


@pytest.fixture(scope="module")
def score(model: BertWithHead, tokenizer: Tokenizer) -> Scorer:
    return Scorer(model, tokenizer)


def obvious_score(theirs: transformers.BertForPreTraining, tokenizer: Tokenizer, text: str) -> dict[int, float]:
    """The log-probability of each word, piece by piece, its word's later pieces hidden with it."""
    encoding = tokenizer.encode(text)
    words: dict[int, float] = {}
    for place, word in enumerate(encoding.word_ids):
        if word is None:
            continue
        ids = list(encoding.ids)
        for later in range(place, len(ids)):
            if encoding.word_ids[later] == word:
                ids[later] = tokenizer.mask_id
        with torch.inference_mode():
            logits = theirs(torch.tensor([ids])).prediction_logits[0, place]
        words[word] = words.get(word, 0) + float(logits.log_softmax(-1)[encoding.ids[place]])
    return words


def test_scores_are_those_of_an_obvious_loop(
    score: Scorer, theirs: transformers.BertForPreTraining, tokenizer: Tokenizer
) -> None:
    for scored in score(TEXTS).texts:
        expected = obvious_score(theirs, tokenizer, scored.text)
        assert [word.log_probability for word in scored.words] == pytest.approx(list(expected.values()), abs=2e-4)
        assert scored.log_probability == pytest.approx(sum(expected.values()), abs=1e-3)


def test_scores_in_bfloat16_are_nearly_those_in_float32(score: Scorer) -> None:
    need_products_in("bfloat16")
    exact = score.sums(TEXTS)
    with torch.autocast("cpu", torch.bfloat16):
        quick = score.sums(TEXTS)
    assert quick != exact
    assert quick == pytest.approx(exact, rel=0.02)


@pytest.mark.parametrize("batch_tokens", [1, 17, 100_000])
def test_the_size_of_a_batch_changes_nothing(
    model: BertWithHead, tokenizer: Tokenizer, score: Scorer, batch_tokens: int
) -> None:
    found = Scorer(model, tokenizer, batch_tokens=batch_tokens).sums(TEXTS)
    assert found == pytest.approx([text.log_probability for text in score(TEXTS).texts], abs=1e-4)


def test_words_point_into_the_original_text(score: Scorer) -> None:
    text = "She walked,  天大!"
    (scored,) = score(text).texts
    assert [text[word.start : word.end] for word in scored.words] == ["She", "walked", ",", "天", "大", "!"]


def test_sums_score_a_repeated_text_once(score: Scorer) -> None:
    seen = []
    sums = score.sums(["rain", "the cat", "rain"], report=lambda done, total: seen.append((done, total)))
    assert sums[0] == sums[2] != sums[1]
    assert seen == [(3 + 2 * 4, 11)]  # [CLS] rain [SEP] once; two copies of [CLS] the cat [SEP]


def test_the_answer_is_the_contracts_json(score: Scorer) -> None:
    answer = json.loads(json.dumps(score("rain").to_dict()))
    ((text,),) = (answer["texts"],)
    assert text["words"] == [{"start": 0, "end": 4, "log_probability": text["log_probability"]}]
    assert text["text"] == "rain"
    assert -math.inf < text["log_probability"] < 0


@pytest.mark.parametrize(("text", "message"), [("", "without words"), (" \n", "without words"), ("a [MASK]", "fill")])
def test_what_cannot_be_scored_is_refused(score: Scorer, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        score(["rain", text])


def test_a_long_text_is_cut_and_says_where(score: Scorer) -> None:
    (scored,) = score("rain" + " rain" * 99).texts
    assert (scored.cut, len(scored.words)) == (4 + 5 * 37, 38)
