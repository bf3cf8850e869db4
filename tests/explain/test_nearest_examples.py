"""Nearest examples: the order is that of plain cosines, copies are shown once, the text itself is marked."""

import numpy as np
import pytest
import torch
from small_models import small_model

from unmask.data.examples import TextExample
from unmask.data.ragged import pack
from unmask.errors import InputError
from unmask.explain.nearest_examples import nearest_examples

TRAIN = [
    TextExample("the quick fox", label="good"),
    TextExample("the lazy dog", label="bad"),
    TextExample("The Lazy dog!", label="bad"),
    TextExample("nobody had hoped for it", "they go", label="fair"),
    TextExample("a brown fox was not lazy", label="good"),
]


def pooled(text: str, pair: str | None = None) -> np.ndarray:
    opened = small_model("classes")
    encoding = opened.tokenizer.encode(text, pair)
    with torch.inference_mode():
        vector = opened.bert(pack([encoding.ids], [encoding.segments])).pooled[0]
    return (vector / vector.norm()).numpy()


def test_they_are_ordered_by_the_cosine_of_what_the_head_reads() -> None:
    found = nearest_examples(small_model("classes"), "a lazy fox", TRAIN, top=9)
    expected = {one.text: float(pooled(one.text, one.pair) @ pooled("a lazy fox")) for one in TRAIN}
    assert len(found.rows) == 4
    for row in found.rows:
        assert row.cosine == pytest.approx(expected[row.texts[0]], abs=1e-5)
    assert [row.cosine for row in found.rows] == sorted((row.cosine for row in found.rows), reverse=True)


def test_copies_are_shown_once_and_the_text_itself_is_marked() -> None:
    found = nearest_examples(small_model("classes"), "the LAZY dog", TRAIN, top=2)
    assert (found.rows[0].same, found.rows[0].copies, found.rows[0].label) == (True, 2, "bad")
    assert not found.rows[1].same
    assert found.to_dict()["examples"] == 5
    assert "the same text" in found.as_html()
    assert "(2 copies)" in found.in_words()


def test_models_of_words_are_refused() -> None:
    with pytest.raises(InputError, match="a class or a value"):
        nearest_examples(small_model("tokens"), "the fox", TRAIN)
