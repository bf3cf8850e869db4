"""Tags and spans: conlleval's tables written out, every path tried, schemes there and back."""

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unmask.decode.tags import (
    best_path,
    best_paths,
    convert,
    detect_scheme,
    entities,
    legal_transitions,
    repair,
    spans_of,
    tags_of,
)
from unmask.errors import InputError

SCHEMES = ["IOB1", "IOB2", "BIOES"]
IOB = st.sampled_from(["O", "B-PER", "I-PER", "B-LOC", "I-LOC"])
BIOES = st.sampled_from(["O", *(f"{letter}-{kind}" for letter in "BIES" for kind in ("PER", "LOC"))])
ANY_TAGS = st.one_of(
    st.tuples(st.sampled_from(["IOB1", "IOB2"]), st.lists(IOB, max_size=9)),
    st.tuples(st.just("BIOES"), st.lists(BIOES, max_size=9)),
)


@st.composite
def span_lists(draw: st.DrawFn) -> tuple[list[tuple[str, int, int]], int]:
    length, place, spans = draw(st.integers(0, 10)), 0, []
    while place < length:
        size = draw(st.integers(0, 3))
        if 0 < size <= length - place:
            spans.append((draw(st.sampled_from(["PER", "LOC", "work-of-art"])), place, place + size))
        place += max(size, 1)
    return spans, length


# The scorer's own account: pairs of letters between which a span of one type ends, and begins. Its tables lack S and
# the pair E B, which only BIOES has; they are given here the only reading they can have.
ENDS = {"BB", "BO", "BS", "IB", "IO", "IS", "EB", "EI", "EE", "EO", "ES", "SB", "SI", "SE", "SO", "SS"}
STARTS = {"BB", "IB", "OB", "EB", "SB", "OI", "EI", "SI", "OE", "EE", "SE", "OS", "BS", "IS", "ES", "SS"}


def spans_by_tables(tags: list[str]) -> list[tuple[str, int, int]]:
    spans, begun = [], 0
    before, type_before = "O", ""
    for place, tag in enumerate([*tags, "O"]):
        letter, _, type_ = tag.partition("-")
        if before + letter in ENDS or (before != "O" and type_before != type_):
            spans.append((type_before, begun, place))
        if before + letter in STARTS or (letter != "O" and type_before != type_):
            begun = place
        before, type_before = letter, type_
    return spans


@settings(deadline=None)
@given(ANY_TAGS)
def test_spans_begin_and_end_where_the_tables_of_conlleval_say(case: tuple[str, list[str]]) -> None:
    scheme, tags = case
    assert spans_of(tags, scheme) == spans_by_tables(tags)


@pytest.mark.parametrize(
    ("tags", "spans"),
    [
        ("B-PER I-PER I-LOC", [("PER", 0, 2), ("LOC", 2, 3)]),
        ("I-PER B-PER I-PER", [("PER", 0, 1), ("PER", 1, 3)]),
        ("O I-PER O I-PER", [("PER", 1, 2), ("PER", 3, 4)]),
        ("B-LOC B-LOC O", [("LOC", 0, 1), ("LOC", 1, 2)]),
        ("", []),
    ],
)
def test_spans_of_iob_by_hand(tags: str, spans: list[tuple[str, int, int]]) -> None:
    assert spans_of(tags.split(), "IOB1") == spans_of(tags.split(), "IOB2") == spans


def test_a_span_without_its_end_ends_where_the_next_begins() -> None:
    tags = ["B-PER", "I-PER", "S-PER", "E-LOC", "I-LOC", "B-LOC", "E-LOC"]
    assert spans_of(tags, "BIOES") == [("PER", 0, 2), ("PER", 2, 3), ("LOC", 3, 4), ("LOC", 4, 5), ("LOC", 5, 7)]


@settings(deadline=None)
@given(span_lists(), st.sampled_from(SCHEMES))
def test_spans_written_as_tags_read_as_the_same_spans(case: tuple[list, int], scheme: str) -> None:
    spans, length = case
    tags = tags_of(spans, length, scheme)
    assert len(tags) == length
    assert spans_of(tags, scheme) == spans


@settings(deadline=None)
@given(span_lists(), st.sampled_from(SCHEMES), st.sampled_from(SCHEMES))
def test_schemes_convert_there_and_back(case: tuple[list, int], scheme: str, other: str) -> None:
    tags = tags_of(*case, scheme)
    assert convert(convert(tags, scheme, other), other, scheme) == tags


def is_legal(tags: list[str], scheme: str) -> bool:
    """A sequence is legal when it is how its own spans are written."""
    return tags_of(spans_by_tables(tags), len(tags), scheme) == tags


@settings(deadline=None)
@given(ANY_TAGS)
def test_repair_makes_tags_legal_and_moves_no_span(case: tuple[str, list[str]]) -> None:
    scheme, tags = case
    repaired = repair(tags, scheme)
    assert is_legal(repaired, scheme)
    assert spans_of(repaired, scheme) == spans_of(tags, scheme)
    assert repair(repaired, scheme) == repaired


@settings(deadline=None)
@given(span_lists(), st.sampled_from(SCHEMES))
def test_a_scheme_is_detected_where_the_tags_differ(case: tuple[list, int], scheme: str) -> None:
    tags = tags_of(*case, scheme)
    found = detect_scheme([tags])
    assert tags_of(*case, found) == tags


def test_a_few_wrong_tags_do_not_change_the_scheme() -> None:
    assert detect_scheme([["B-PER", "O"], ["O", "B-LOC"], ["O", "I-LOC"]]) == "IOB2"
    assert detect_scheme([["I-PER", "O"], ["O", "I-LOC"], ["O", "B-LOC"]]) == "IOB1"


@pytest.mark.parametrize("tag", ["E-PER", "", "BI-PER", "PER", "b-PER"])
def test_a_tag_of_no_scheme_is_named(tag: str) -> None:
    with pytest.raises(InputError, match="IOB2"):
        spans_of(["O", tag], "IOB2")


def test_an_unknown_scheme_and_overlapping_spans_are_the_users_error() -> None:
    with pytest.raises(InputError, match="IOB1 or IOB2 or BIOES"):
        tags_of([], 2, "IOB3")
    with pytest.raises(InputError, match="overlap"):
        tags_of([("PER", 0, 2), ("LOC", 1, 3)], 4, "IOB2")
    with pytest.raises(InputError, match="among 4 words"):
        tags_of([("PER", 3, 5)], 4, "IOB2")


@pytest.mark.parametrize("scheme", SCHEMES)
def test_legal_transitions_allow_exactly_the_legal_sequences(scheme: str) -> None:
    labels = ["O", *(f"{letter}-{kind}" for letter in ("BIES" if scheme == "BIOES" else "BI") for kind in "XY")]
    start, transitions, end = legal_transitions(labels, scheme)
    for path in product(range(len(labels)), repeat=3):
        weight = start[path[0]] + transitions[path[0], path[1]] + transitions[path[1], path[2]] + end[path[2]]
        assert np.isfinite(weight) == is_legal([labels[number] for number in path], scheme)


def weight_of(path: tuple[int, ...], scores: np.ndarray, transitions: np.ndarray, start: np.ndarray, end: np.ndarray):
    steps = sum(transitions[a, b] for a, b in pairwise(path))
    return start[path[0]] + sum(scores[place, label] for place, label in enumerate(path)) + steps + end[path[-1]]


@settings(deadline=None)
@given(st.integers(1, 4), st.integers(1, 4), st.integers(0, 2**32 - 1), st.booleans())
def test_the_best_path_is_the_best_of_all_paths(length: int, labels: int, seed: int, forbid: bool) -> None:
    chance = np.random.default_rng(seed)
    scores, transitions = chance.normal(size=(length, labels)), chance.normal(size=(labels, labels))
    start, end = chance.normal(size=labels), chance.normal(size=labels)
    if forbid:  # leave label 0 free, so that there is always a way
        transitions[1:][chance.random((labels - 1, labels)) < 0.5] = -np.inf
        start[1:] = -np.inf
        transitions[:, 0] = 0
    every = list(product(range(labels), repeat=length))
    best = max(every, key=lambda path: weight_of(path, scores, transitions, start, end))
    assert tuple(best_path(scores, transitions, start, end)) == best


@settings(deadline=None)
@given(st.lists(st.integers(0, 6), max_size=6), st.integers(0, 2**32 - 1))
def test_sentences_together_get_the_paths_they_get_alone(lengths: list[int], seed: int) -> None:
    chance = np.random.default_rng(seed)
    scores, transitions = chance.normal(size=(sum(lengths), 3)).astype(np.float32), chance.normal(size=(3, 3))
    start, end = chance.normal(size=3), chance.normal(size=3)
    alone = [best_path(part, transitions, start, end) for part in np.split(scores, np.cumsum(lengths))[:-1]]
    together = best_paths(scores, lengths, transitions, start, end)
    assert together.tolist() == [label for path in alone for label in path.tolist()]


@settings(deadline=None)
@given(st.integers(1, 8), st.integers(0, 2**32 - 1), st.sampled_from(SCHEMES))
def test_the_best_legal_path_needs_no_repair(length: int, seed: int, scheme: str) -> None:
    labels = ["O", *(f"{letter}-{kind}" for letter in ("BIES" if scheme == "BIOES" else "BI") for kind in "XY")]
    start, transitions, end = legal_transitions(labels, scheme)
    scores = np.random.default_rng(seed).normal(size=(length, len(labels)))
    tags = [labels[number] for number in best_path(scores, transitions, start, end)]
    assert repair(tags, scheme) == tags


def test_entities_point_into_the_original_text() -> None:
    text = "In New  York, 李雷 sang."
    words = [(0, 2), (3, 6), (8, 12), (12, 13), (14, 15), (15, 16), (17, 21), (21, 22)]
    tags = ["O", "B-LOC", "I-LOC", "O", "B-PER", "I-PER", "O", "O"]
    found = entities(text, words, tags, np.array([1, 0.5, 1, 1, 0.25, 0.25, 1, 1]), "IOB2")
    assert found.to_dict() == {
        "entities": [
            {"type": "LOC", "start": 3, "end": 12, "text": "New  York", "score": 0.75},
            {"type": "PER", "start": 14, "end": 16, "text": "李雷", "score": 0.25},
        ]
    }
