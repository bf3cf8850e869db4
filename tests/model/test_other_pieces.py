"""A model under another vocabulary: known pieces keep their rows, others are spelled or placed by their neighbours."""

import numpy as np
import pytest
import torch

from unmask.data.ragged import pack
from unmask.model.bert import Bert
from unmask.model.config import BertConfig
from unmask.model.counted_start import CountedStart
from unmask.model.heads import BertWithHead, make_head, masked_words_in
from unmask.model.other_pieces import Carried, biases_for, into_space, rows_for, speller, under_other_pieces
from unmask.text.tokenizer import Tokenizer
from unmask.text.vocabulary import SPECIAL_PIECES

OLD = Tokenizer([*SPECIAL_PIECES, "un", "mask", "##mask", "##ed", "snow"])
NEW = Tokenizer([*SPECIAL_PIECES, "snow", "masked", "##masked", "天", "地"])


def make(head: str | None = "masked_words") -> Bert | BertWithHead:
    config = BertConfig(vocabulary_size=OLD.size, width=8, layers=1, heads=2, feed_forward=16, positions=12)
    bert = Bert(config, seed=1)
    if head is None:
        return bert
    model = BertWithHead(bert, make_head(head, config, seed=2))
    words = masked_words_in(model.head)
    assert words is not None
    torch.nn.init.normal_(words.bias, generator=torch.Generator().manual_seed(3))
    return model


def rows(model: Bert | BertWithHead) -> torch.Tensor:
    bert = model.bert if isinstance(model, BertWithHead) else model
    return bert.embeddings.words.weight.detach()


@pytest.mark.parametrize("head", [None, "masked_words", "pretraining"])
def test_kept_composed_and_new_pieces_are_told_apart(head: str | None) -> None:
    model = make(head)
    carried_over, carried = under_other_pieces(model, OLD, NEW)
    assert carried == Carried(kept=6, composed=2, new=2)
    before, after = rows(model), rows(carried_over)
    place = {piece: NEW.pieces.index(piece) for piece in NEW.pieces}
    assert torch.equal(after[place["snow"]], before[OLD.pieces.index("snow")])
    mask, inside, ed = (before[OLD.pieces.index(piece)] for piece in ("mask", "##mask", "##ed"))
    torch.testing.assert_close(after[place["masked"]], (mask + ed) / 2)
    torch.testing.assert_close(after[place["##masked"]], (inside + ed) / 2)


def test_the_model_that_was_given_stays_as_it_was() -> None:
    model = make()
    before = rows(model).clone()
    under_other_pieces(model, OLD, NEW)
    assert torch.equal(rows(model), before)


def test_a_text_of_kept_pieces_is_understood_exactly_as_before() -> None:
    model = make(None)
    assert isinstance(model, Bert)
    carried_over, _ = under_other_pieces(model, OLD, NEW)
    with torch.inference_mode():
        before, after = (
            bert.eval()(pack([tokenizer.encode("snow snow").ids])).hidden
            for bert, tokenizer in ((model, OLD), (carried_over, NEW))
        )
    assert torch.equal(before, after)


def test_the_decoder_stays_tied_to_the_new_rows() -> None:
    carried_over, _ = under_other_pieces(make(), OLD, NEW)
    assert isinstance(carried_over, BertWithHead)
    words = masked_words_in(carried_over.head)
    assert words is not None
    assert words.bias.shape == (NEW.size,)
    assert carried_over.bert.config.vocabulary_size == NEW.size


def test_without_counts_new_pieces_are_drawn_like_the_others_and_by_the_seed() -> None:
    first, again, other = (rows(under_other_pieces(make(), OLD, NEW, seed=seed)[0])[-2:] for seed in (0, 0, 1))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert first.abs().max() < 10 * rows(make()).std()


def test_counted_neighbours_place_pieces_that_the_model_never_met() -> None:
    counted = np.zeros((NEW.size, 3), np.float32)
    counted[5:8] = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    counted[NEW.pieces.index("天")] = [1, 0, 0]  # its neighbours are those of snow; 地 was not seen
    start = CountedStart(counted.any(1), counted, np.linspace(0, 1, NEW.size, dtype=np.float32))
    carried_over, _ = under_other_pieces(make(), OLD, NEW, start)
    found = rows(carried_over)
    like = torch.cosine_similarity(found[NEW.pieces.index("天")][None], found[5:8])
    assert int(like.argmax()) == 0


def test_a_map_between_spaces_finds_the_rotation_that_made_one_of_the_other() -> None:
    chance = np.random.default_rng(0)
    there = chance.normal(size=(200, 6)).astype(np.float32)
    rotation = np.linalg.qr(chance.normal(size=(6, 6)))[0].astype(np.float32)
    found = into_space(there[:150], there[:150] @ rotation, there[150:])
    wanted = there[150:] @ rotation
    cosines = (found * wanted).sum(1) / np.linalg.norm(found, axis=1) / np.linalg.norm(wanted, axis=1)
    assert cosines.mean() > 0.99


def test_rows_of_what_can_be_spelled_do_not_depend_on_counts() -> None:
    known = np.eye(4, dtype=np.float32)
    spelled = [[0], [1, 2], []]
    without, with_counts = (rows_for(spelled, known, counts) for counts in (None, np.ones((3, 2), np.float32)))
    assert np.array_equal(without[:2], with_counts[:2])


def test_a_bias_without_spelling_is_as_frequent_as_counted() -> None:
    bias, counted = np.array([1.0, 3.0], np.float32), np.array([0.0, 2.0, -5.0], np.float32)
    assert biases_for([[0], [1], []], bias, counted).tolist() == [1.0, 3.0, -4.0]


def test_pieces_inside_words_are_spelled_by_pieces_inside_words() -> None:
    spell = speller(OLD)
    assert [OLD.pieces[id] for id in spell("##masked")] == ["##mask", "##ed"]
    assert spell("##天") == []
