"""Numbers of replies are weighed by what they are worth, and reading is kept where it surely helps."""

from pathlib import Path

import numpy as np
from chats import small_encoder

from unmask.apps.chat_measures import Pool
from unmask.apps.reply_scores import PoolNumbers, learn_weights, reading_helps
from unmask.apps.vectors import TextVectors


def numbers(reading: float, *, pools: int = 60, seed: int = 0) -> PoolNumbers:
    """Numbers of pools of ten: the tower knows a little, reading as much as is said."""
    draw = np.random.default_rng(seed)
    real = np.eye(10)[0]
    return PoolNumbers(
        cosine=[draw.normal(size=10) + real for _ in range(pools)],
        reading=[draw.normal(size=10) + reading * real for _ in range(pools)],
        words=[draw.normal(size=10) for _ in range(pools)],
    )


def test_reading_is_kept_where_it_tells_real_replies_and_left_out_where_it_does_not() -> None:
    assert reading_helps(numbers(2.0))
    assert sum(reading_helps(numbers(0.0, seed=seed)) for seed in range(8)) <= 1  # one in forty is expected
    assert not reading_helps(numbers(-2.0))


def test_a_part_that_is_not_there_counts_for_nothing() -> None:
    weights = learn_weights(numbers(2.0).unread())
    assert weights.reading == 0.0
    assert weights.cosine > 0.0


def test_without_a_cross_encoder_there_are_no_figures_of_one(tmp_path: Path) -> None:
    tower = TextVectors(small_encoder(tmp_path / "encoder", head=None))
    found = PoolNumbers.of([Pool(("do you like tea?",), ("tea!", "soup."))] * 4, tower, None)
    assert set(found.ranked(learn_weights(found))) == {"chat", "tower", "bm25", "random"}
