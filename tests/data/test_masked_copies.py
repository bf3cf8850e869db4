"""Masked copies: against three nested loops."""

from itertools import accumulate

from hypothesis import given
from hypothesis import strategies as st

from unmask.data.masked_copies import masked_copies

MASK = 4


@st.composite
def sentences(draw: st.DrawFn) -> tuple[list[int], list[int | None]]:
    """Ids between [CLS] and [SEP], cut into words of one or more pieces."""
    starts = draw(st.lists(st.booleans(), max_size=6))
    words = [word - 1 for word in accumulate([1, *starts])][: len(starts)]
    ids = draw(st.lists(st.integers(5, 99), min_size=len(words), max_size=len(words)))
    return [2, *ids, 3], [None, *words, None]


@given(st.lists(sentences(), max_size=6), st.integers(1, 60))
def test_copies_are_those_of_an_obvious_loop(rows: list[tuple[list[int], list[int | None]]], tokens: int) -> None:
    copies, of_sequence = masked_copies([ids for ids, _ in rows], [words for _, words in rows])
    made = []
    for run, batch, places in copies.batches(MASK, tokens=tokens):
        assert run.start == len(made)
        for start, length, place in zip(batch.starts, batch.lengths, places, strict=True):
            made.append((batch.ids[start : start + length].tolist(), int(place - start)))
    for (ids, words), own in zip(rows, of_sequence, strict=True):
        expected = []
        for place, word in enumerate(words):
            if word is not None:
                hidden = [w == word and later >= place for later, w in enumerate(words)]
                expected.append(([MASK if h else id for h, id in zip(hidden, ids, strict=True)], place))
        assert made[own] == expected
        assert copies.targets[own].tolist() == [id for id, word in zip(ids, words, strict=True) if word is not None]
