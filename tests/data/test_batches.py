"""Batches by length: bounded, complete, and like the sequences given."""

from hypothesis import given
from hypothesis import strategies as st

from unmask.data.batches import batches_by_length, runs

SEQUENCES = st.lists(st.lists(st.integers(0, 99), min_size=1, max_size=9), max_size=30)


@given(SEQUENCES, st.integers(1, 40))
def test_every_sequence_is_in_one_bounded_batch(sequences: list[list[int]], tokens: int) -> None:
    found: dict[int, list[int]] = {}
    for which, batch in batches_by_length(sequences, tokens=tokens):
        assert len(batch.ids) <= tokens or len(which) == 1
        for i, start, length in zip(which, batch.starts, batch.lengths, strict=True):
            assert int(i) not in found
            found[int(i)] = batch.ids[start : start + length].tolist()
    assert found == dict(enumerate(sequences))


def test_segments_go_with_their_sequences() -> None:
    ((_, batch),) = batches_by_length([[1, 2, 3], [4, 5]], [[0, 1, 1], [0, 1]])
    assert batch.segments.tolist() == [0, 1, 0, 1, 1]


@given(st.lists(st.integers(1, 9)), st.integers(1, 20))
def test_runs_are_as_long_as_they_may_be(lengths: list[int], tokens: int) -> None:
    found = list(runs(lengths, tokens))
    assert [i for run in found for i in range(run.start, run.stop)] == list(range(len(lengths)))
    for run in found:
        assert sum(lengths[run]) <= tokens or run.stop - run.start == 1
        assert run.stop == len(lengths) or sum(lengths[run.start : run.stop + 1]) > tokens
