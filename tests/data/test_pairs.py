"""Examples drawn from a text: what the paper asks for, counted with a seed."""

import itertools
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from texts import ORDINARY, TOKENIZER, MemoryText, make_text, random_text

from unmask.data import pairs
from unmask.data.pairs import Examples, Objective, Plan, _truncated, draw, plan
from unmask.errors import InputError

TEXT = random_text(24, longest=20)  # under 4,000 tokens, so that an id tells its token's place
OBJECTIVES: list[Objective] = ["next", "order", "full"]


def rows_of(examples: Examples) -> list[list[int]]:
    """The ids of each row."""
    return [row.tolist() for row in np.split(examples.ids, np.cumsum(examples.lengths)[:-1])]


def segments_of(row: list[int]) -> list[list[int]]:
    """The places in TEXT of the tokens of each segment."""
    assert row[0] == TOKENIZER.cls_id
    assert row[-1] == TOKENIZER.sep_id
    inner, found = row[1:], []
    while inner:
        end = inner.index(TOKENIZER.sep_id)
        found.append([id - 5 for id in inner[:end]])
        inner = inner[end + 1 :]
    return found


def many(plan: Plan, *, steps: int = 40, rows: int = 100, seed: int = 1) -> list[tuple[list[list[int]], int]]:
    """The segments and labels of many rows."""
    drawn = (draw(plan, TOKENIZER, seed=seed, step=step, rows=rows) for step in range(steps))
    return [(segments_of(row), int(label)) for e in drawn for row, label in zip(rows_of(e), e.labels, strict=True)]


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_a_row_is_whole_segments_between_special_pieces(objective: Objective) -> None:
    examples = draw(plan(TEXT, length=32, objective=objective), TOKENIZER, seed=0, step=3, rows=50)
    kinds = np.split(examples.segments, np.cumsum(examples.lengths)[:-1])
    for row, kind in zip(rows_of(examples), kinds, strict=True):
        segments = segments_of(row)
        assert len(row) <= 32
        assert len(segments) == (1 if objective == "full" else 2)
        assert all(s and s == list(range(s[0], s[-1] + 1)) for s in segments)  # tokens that follow each other
        assert kind.tolist() == [0] * (len(segments[0]) + 2) + [1] * (len(row) - len(segments[0]) - 2)


@pytest.mark.parametrize("length", [24, 512])
def test_a_true_next_segment_follows_in_the_same_document_and_a_false_one_is_from_another(length: int) -> None:
    for (first, second), label in many(plan(TEXT, length=length)):
        documents = TEXT.document_of(np.array([first[0], second[0]]))
        if label == 0:
            assert documents[0] == documents[1]
            assert second[0] > first[-1] if length == 24 else second[0] == first[-1] + 1  # cut, or not
        else:
            assert documents[0] != documents[1]


def test_a_foreign_segment_is_from_a_document_close_by(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairs, "NEAR_ROWS", 2)
    text = make_text([[9, 9] for _ in range(50)])  # each document one part
    for (first, second), label in many(plan(text, length=32), steps=5):
        here, there = text.document_of(np.array([first[0], second[0]]))
        assert (there - here) % 50 in ({1, 2} if label else {0})


def test_segments_swap_in_half_of_the_order_examples() -> None:
    drawn = many(plan(TEXT, length=512, objective="order"))
    for (first, second), label in drawn:
        assert (second[-1] + 1 == first[0]) if label else (first[-1] + 1 == second[0])
    assert abs(np.mean([label for _, label in drawn]) - 0.5) < 4 * 0.5 / np.sqrt(len(drawn))


def test_half_of_the_second_segments_are_next() -> None:
    labels = [label for _, label in many(plan(TEXT, length=32))]
    assert abs(np.mean(labels) - 0.5) < 4 * 0.5 / np.sqrt(len(labels))


@pytest.mark.parametrize("length", [128, 512])
def test_length_hardly_tells_whether_a_segment_is_next(length: int) -> None:
    made = plan(random_text(400, longest=40, most=60), length=length)
    examples = draw(made, TOKENIZER, seed=3, step=0, rows=4000)
    second = np.bincount(examples.rows[examples.segments == 1])
    for known in (examples.lengths, second):
        guesses = [((known > limit) == examples.labels).mean() for limit in range(length)]
        assert 0.45 < min(guesses) < max(guesses) < 0.55  # no limit is a good guess, either way round


def test_one_pair_in_ten_is_short_by_a_uniform_target() -> None:
    text = make_text([[1] * 12_500, [1] * 12_500])  # sentences of one token, a hundred full parts: targets met exactly
    drawn = draw(plan(text, length=128), TOKENIZER, seed=5, step=0, rows=10_000)
    whole_parts = drawn.lengths[drawn.labels == 0]
    short = whole_parts[whole_parts < 128 - 1] - 3
    share = 0.1 * (1 - 2 / 124)
    assert abs(len(short) / len(whole_parts) - share) < 4 * np.sqrt(share * (1 - share) / len(whole_parts))
    assert abs(short.mean() - 63) < 4 * 36 / np.sqrt(len(short))


def test_an_epoch_of_single_segments_has_each_token_at_most_once_and_nearly_all() -> None:
    made = plan(TEXT, length=64, objective="full")
    for epoch in range(5):
        tokens = [t for (segment,), _ in many_of_epoch(made, epoch) for t in segment]
        assert len(set(tokens)) == len(tokens)
        assert len(tokens) > 0.9 * len(TEXT.ids)


def many_of_epoch(made: Plan, epoch: int) -> list[tuple[list[list[int]], int]]:
    """All rows of an epoch."""
    examples = draw(made, TOKENIZER, seed=2, step=epoch, rows=made.size)
    return [(segments_of(row), int(label)) for row, label in zip(rows_of(examples), examples.labels, strict=True)]


def test_an_epoch_of_pairs_has_each_sentence_about_once() -> None:
    made = plan(TEXT, length=64)
    visits = np.zeros(len(TEXT.ids))
    for epoch in range(40):
        for token in itertools.chain(*itertools.chain(*(segments for segments, _ in many_of_epoch(made, epoch)))):
            visits[token] += 1 / 40
    sentences = np.add.reduceat(visits, TEXT.sentence_tokens[:-1]) / np.diff(TEXT.sentence_tokens)
    alone = np.repeat(np.diff(TEXT.document_sentences) == 1, np.diff(TEXT.document_sentences))
    assert 0.8 < sentences[~alone].mean() < 1.1
    assert sentences[~alone].min() > 0.3
    assert sentences[alone].max(initial=0) == 0


def test_epochs_are_cut_and_ordered_anew() -> None:
    made = plan(TEXT, length=64, objective="full")
    first, second = many_of_epoch(made, 0), many_of_epoch(made, 1)
    assert [s[0][0] for s, _ in first] != [s[0][0] for s, _ in second]
    assert {s[0][0] for s, _ in first} != {s[0][0] for s, _ in second}


def test_a_sentence_longer_than_a_row_is_seen_everywhere() -> None:
    text = make_text([[1000, 5], [3, 4]])
    seen = {t for (segment,), _ in many(plan(text, length=102, objective="full"), rows=20) for t in segment}
    assert len(seen) > 0.99 * len(text.ids)


def test_a_long_last_sentence_still_has_a_first_segment() -> None:
    text = make_text([[5, 300], [300, 5], [7, 7]])
    for (first, second), label in many(plan(text, length=32), rows=30):
        documents = text.document_of(np.array([first[0], second[0]]))
        assert (documents[0] == documents[1]) == (label == 0)


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("world", [2, 3, 7])
def test_ranks_together_draw_what_one_alone_would(objective: Objective, world: int) -> None:
    made = plan(TEXT, length=48, objective=objective)
    alone = draw(made, TOKENIZER, seed=4, step=11, rows=20)
    shares = [draw(made, TOKENIZER, seed=4, step=11, rows=20, rank=rank, world=world) for rank in range(world)]
    for name in (f.name for f in fields(Examples)):
        assert np.array_equal(np.concatenate([getattr(s, name) for s in shares]), getattr(alone, name)), name


def test_a_step_is_a_function_of_seed_and_number() -> None:
    made = plan(TEXT, length=48)
    ids = {
        (seed, step): draw(made, TOKENIZER, seed=seed, step=step, rows=8).ids.tobytes()
        for seed in range(3)
        for step in (0, 5, 10**9)
    }
    assert len(set(ids.values())) == 9
    assert draw(plan(TEXT, length=48), TOKENIZER, seed=1, step=10**9, rows=8).ids.tobytes() == ids[1, 10**9]


@given(st.lists(st.integers(1, 40), min_size=2, max_size=2), st.integers(2, 30), st.floats(0, 0.999))
def test_the_longer_segment_loses_tokens_until_both_fit(lengths: list[int], room: int, chance: float) -> None:
    expected = list(lengths)
    while sum(expected) > room:
        expected[0 if expected[0] > expected[1] else 1] -= 1
    begins = np.array([[100, 200]])
    starts, stops = _truncated(begins, begins + lengths, room, np.full((1, 2), chance))
    assert (stops - starts)[0].tolist() == expected
    assert (starts >= begins).all()
    assert (stops <= begins + lengths).all()


def test_segments_are_cut_at_the_front_and_at_the_back() -> None:
    starts, stops = _truncated(np.zeros((2, 1), int), np.full((2, 1), 10), 4, np.array([[0.0], [0.999]]))
    assert (starts.ravel().tolist(), stops.ravel().tolist()) == ([0, 6], [4, 10])


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_so_many_rows_hold_about_so_many_tokens(objective: Objective) -> None:
    made = plan(random_text(500, most=30), length=128, objective=objective)
    rows = made.rows(8192)
    mean = np.mean([len(draw(made, TOKENIZER, seed=0, step=step, rows=rows).ids) for step in range(20)])
    assert 0.8 * 8192 < mean < 1.1 * 8192


def test_words_begin_where_the_pieces_or_the_given_words_say() -> None:
    by_pieces = draw(plan(TEXT, length=64), TOKENIZER, seed=0, step=0, rows=9)
    by_words = draw(plan(TEXT, length=64, words=words_of_four), TOKENIZER, seed=0, step=0, rows=9)
    inner = ~by_pieces.special & ~np.roll(by_pieces.special, 1)
    assert np.array_equal(by_pieces.word_starts[inner], TOKENIZER.starts_word[by_pieces.ids[inner]])
    assert np.array_equal(by_words.word_starts[inner], (by_words.ids[inner] - 5) % 4 == 0)
    assert by_words.word_starts[~inner].all()  # special pieces, and segments that begin within a word


def words_of_four(start: int, stop: int) -> np.ndarray:
    """Every fourth token of the text begins a word."""
    return np.arange(start, stop) % 4 == 0


def test_special_pieces_in_the_text_are_marked() -> None:
    text = MemoryText(TEXT.document_sentences, TEXT.sentence_tokens, np.where(TEXT.ids % 7, TEXT.ids, 4).astype("u2"))
    examples = draw(plan(text, length=64), TOKENIZER, seed=0, step=0, rows=9)
    assert np.array_equal(examples.special, examples.ids < 5)
    assert (examples.ids == TOKENIZER.mask_id).any()


def test_documents_of_one_sentence_are_skipped_and_counted() -> None:
    text = make_text([[3], [4, 5], [6], [7, 8]])
    assert plan(text, length=16).skipped == 2
    assert plan(text, length=16, objective="full").skipped == 0
    for segments, _ in many(plan(text, length=16), rows=10):
        assert {int(d) for s in segments for d in text.document_of(np.array(s))} <= {1, 3}


def test_only_the_given_documents_take_part() -> None:
    given_documents = np.array([2, 5, 11])
    for segments, _ in many(plan(TEXT, length=64, documents=given_documents), rows=20):
        assert {int(d) for s in segments for d in TEXT.document_of(np.array(s))} <= {2, 5, 11}


@pytest.mark.parametrize(
    ("documents", "objective", "complaint"),
    [
        ([[5, 5, 5]], "next", "from another document"),
        ([[5, 5], [3], [4]], "next", "1 documents that have two sentences or more and 2 that have one"),
        ([[3], [4]], "order", "0 documents"),
        ([], "full", "no documents"),
    ],
)
def test_a_text_that_cannot_give_examples_is_refused(
    documents: list[list[int]], objective: Objective, complaint: str
) -> None:
    with pytest.raises(InputError, match=complaint):
        plan(make_text(documents), length=32, objective=objective)


def test_rows_without_room_for_two_segments_are_refused() -> None:
    with pytest.raises(InputError, match="at least 5"):
        plan(TEXT, length=4)


def test_the_vocabulary_of_these_tests_tells_places_apart() -> None:
    assert len(TEXT.ids) < ORDINARY
