"""Masked words: counted against the paper's shares, and against a loop that takes units one by one."""

from dataclasses import replace

import numpy as np
import pytest
from texts import TOKENIZER, make_text, random_text

from unmask.data.chance import uniform
from unmask.data.masking import CHOICE, STARTS, Unit, mask
from unmask.data.pairs import Examples, draw, plan
from unmask.errors import InputError

UNITS: list[Unit] = ["piece", "word", "span"]
PLAN = plan(random_text(300, most=30), length=128)
EXAMPLES = draw(PLAN, TOKENIZER, seed=0, step=0, rows=1000)


def in_rows(examples: Examples, positions: np.ndarray) -> np.ndarray:
    """How many positions each row has."""
    return np.bincount(examples.rows[positions], minlength=len(examples.lengths))


def chosen_by_a_loop(examples: Examples, starts: np.ndarray, rate: float) -> list[int]:
    """Row by row, unit by unit."""
    found: list[int] = []
    for row, (begin, length) in enumerate(zip(examples.starts, examples.lengths, strict=True)):
        first = [t for t in range(begin, begin + length) if starts[t]]
        units = [list(range(a, b)) for a, b in zip(first, [*first[1:], begin + length], strict=True)]
        units = [unit for unit in units if not examples.special[unit[0]]]
        budget = max(1, round(rate * length))
        chance = {u[0]: uniform(examples.keys[[row]], CHOICE, u[0] - begin)[0] for u in units}
        taken = 0
        for unit in sorted(units, key=lambda u: (len(u) > budget, chance[u[0]])):
            if taken == 0 or taken + len(unit) / 2 <= budget:
                found += unit
            taken += len(unit)
    return sorted(found)


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("rate", [0.01, 0.15, 0.5])
def test_the_choice_is_that_of_a_loop(unit: Unit, rate: float) -> None:
    examples = draw(PLAN, TOKENIZER, seed=1, step=5, rows=60)
    masked = mask(examples, TOKENIZER, unit=unit, rate=rate)
    assert masked.positions.tolist() == chosen_by_a_loop(examples, STARTS[unit](examples), rate)


@pytest.mark.parametrize("rate", [0.02, 0.15, 0.4])
def test_a_row_has_exactly_its_share_of_masked_pieces(rate: float) -> None:
    counts = in_rows(EXAMPLES, mask(EXAMPLES, TOKENIZER, rate=rate).positions)
    assert counts.tolist() == [max(1, round(rate * length)) for length in EXAMPLES.lengths.tolist()]


@pytest.mark.parametrize("unit", UNITS)
def test_rates_hold_on_average(unit: Unit) -> None:
    masked = mask(EXAMPLES, TOKENIZER, unit=unit)
    assert len(masked.positions) / len(EXAMPLES.ids) == pytest.approx(0.15, abs=0.005)
    assert in_rows(EXAMPLES, masked.positions).min() >= 1


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("mix", [(0.8, 0.1, 0.1), (1, 0, 0), (0, 1, 0), (0, 0, 1), (0.2, 0.5, 0.3)])
def test_masked_random_and_same_have_their_shares(unit: Unit, mix: tuple[float, float, float]) -> None:
    masked = mask(EXAMPLES, TOKENIZER, unit=unit, mix=mix)
    ids = masked.ids[masked.positions]
    hidden, same = ids == TOKENIZER.mask_id, ids == masked.targets
    found = [hidden.mean(), (~hidden & ~same).mean(), same.mean()]
    independent = len(ids) / (1 if unit != "span" else 10)  # a span is replaced as a whole
    for share, expected in zip(found, mix, strict=True):
        assert abs(share - expected) <= 4 * np.sqrt(expected * (1 - expected) / independent) + 1 / 4000


@pytest.mark.parametrize("unit", UNITS)
def test_special_pieces_are_never_masked_nor_put_in(unit: Unit) -> None:
    masked = mask(EXAMPLES, TOKENIZER, unit=unit, rate=0.9, mix=(0, 1, 0))
    assert not EXAMPLES.special[masked.positions].any()
    assert masked.ids[masked.positions].min() >= 5


def test_only_positions_change_and_targets_are_what_stood_there() -> None:
    masked = mask(EXAMPLES, TOKENIZER)
    assert np.array_equal(masked.targets, EXAMPLES.ids[masked.positions])
    restored = masked.ids.copy()
    restored[masked.positions] = masked.targets
    assert np.array_equal(restored, EXAMPLES.ids)
    assert (np.diff(masked.positions) > 0).all()


def test_random_pieces_are_drawn_evenly_from_the_whole_vocabulary() -> None:
    masked = mask(EXAMPLES, TOKENIZER, rate=0.9, mix=(0, 1, 0))
    counts = np.histogram(masked.ids[masked.positions] - 5, 50, (0, 4000))[0]
    expected = counts.sum() / 50
    assert ((counts - expected) ** 2 / expected).sum() < 100  # chi-squared, 49 degrees: 1 in 50,000


def test_every_token_is_as_likely_to_be_masked() -> None:
    few = draw(PLAN, TOKENIZER, seed=9, step=0, rows=100)
    steps = [mask(replace(few, keys=few.keys + np.uint64(i)), TOKENIZER).positions for i in range(200)]
    counts = np.bincount(np.concatenate(steps), minlength=len(few.ids))[~few.special]
    full = few.lengths[few.rows][~few.special] == 128
    share = 19 / 125
    assert abs(counts[full].mean() / 200 - share) < 0.001
    assert abs(counts[full].std() / np.sqrt(200 * share * (1 - share)) - 1) < 0.05


def test_words_are_masked_whole_or_not_at_all() -> None:
    chosen = np.zeros(len(EXAMPLES.ids), dtype=bool)
    chosen[mask(EXAMPLES, TOKENIZER, unit="word").positions] = True
    words = np.cumsum(EXAMPLES.word_starts) - 1
    share = np.bincount(words, chosen) / np.bincount(words)
    assert set(share.tolist()) == {0.0, 1.0}


def test_a_row_of_words_is_off_by_half_a_word_at_most() -> None:
    counts = in_rows(EXAMPLES, mask(EXAMPLES, TOKENIZER, unit="word").positions)
    assert abs(counts - np.maximum(1, np.rint(0.15 * EXAMPLES.lengths))).max() <= 1  # words of two pieces


def test_a_word_longer_than_the_budget_is_left_while_there_are_others() -> None:
    text = make_text([[60, 60], [60, 60]])
    made = plan(text, length=123, objective="full", words=lambda start, stop: long_word(start % 120, stop - start))
    masked = mask(draw(made, TOKENIZER, seed=0, step=0, rows=50), TOKENIZER, unit="word")
    assert len(masked.positions) == 50 * 18
    assert not np.isin((masked.targets - 5) % 120, np.arange(10, 60)).any()


def long_word(start: int, size: int) -> np.ndarray:
    """Words of one token each, except for one of fifty."""
    place = np.arange(start, start + size)
    return (place <= 10) | (place >= 60)


def test_spans_are_whole_words_of_geometric_length() -> None:
    text = make_text([[5000], [5000]])
    made = plan(text, length=5002, objective="full", words=lambda start, stop: np.arange(start, stop) % 2 == 0)
    examples = draw(made, TOKENIZER, seed=0, step=0, rows=40)
    starts = STARTS["span"](examples)
    assert (examples.word_starts | ~starts).all()
    lengths = np.diff(np.flatnonzero(starts))
    words = lengths[~examples.special[np.flatnonzero(starts)[:-1]]] / 2
    shares = 0.8 ** np.arange(10) / (0.8 ** np.arange(10)).sum()
    found = np.bincount(words.astype(int), minlength=11)[1:11] / len(words)
    assert abs(found - shares).max() < 4 * np.sqrt(0.25 / len(words))
    assert words.mean() == pytest.approx(3.8, abs=0.1)  # as SpanBERT reports


def test_a_span_is_replaced_as_a_whole() -> None:
    masked = mask(EXAMPLES, TOKENIZER, unit="span", mix=(0.5, 0, 0.5))
    hidden = masked.ids[masked.positions] == TOKENIZER.mask_id
    units = (np.cumsum(STARTS["span"](EXAMPLES)) - 1)[masked.positions]
    assert set((np.bincount(units, hidden)[units] / np.bincount(units)[units]).tolist()) == {0.0, 1.0}


@pytest.mark.parametrize("unit", UNITS)
def test_a_row_is_masked_the_same_in_any_company(unit: Unit) -> None:
    alone = mask(draw(PLAN, TOKENIZER, seed=4, step=2, rows=30), TOKENIZER, unit=unit)
    shares = [draw(PLAN, TOKENIZER, seed=4, step=2, rows=30, rank=rank, world=4) for rank in range(4)]
    together = [mask(share, TOKENIZER, unit=unit) for share in shares]
    assert np.array_equal(np.concatenate([m.ids for m in together]), alone.ids)
    assert np.array_equal(np.concatenate([m.targets for m in together]), alone.targets)


def test_masks_of_different_steps_differ() -> None:
    first, second = (draw(PLAN, TOKENIZER, seed=4, step=step, rows=30) for step in (2, 3))
    assert (
        mask(replace(first, keys=second.keys), TOKENIZER).positions.tolist()
        != mask(first, TOKENIZER).positions.tolist()
    )


@pytest.mark.parametrize("settings", [{"rate": 0}, {"rate": 1.5}, {"mix": (0.8, 0.1, 0.2)}, {"mix": (1.2, -0.1, -0.1)}])
def test_shares_that_make_no_sense_are_refused(settings: dict[str, float]) -> None:
    with pytest.raises(InputError, match="wanted"):
        mask(EXAMPLES, TOKENIZER, **settings)
