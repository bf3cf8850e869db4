"""Pools are fair and fixed by their seed, and ranks count what an obvious slow count counts."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unmask.apps.chat_measures import POOL, Pool, by_words, make_pools, ranked
from unmask.data.dialogues import Dialogue
from unmask.errors import InputError

DIALOGUES = [Dialogue((f"ask {n}", f"answer {n}", f"and {n}?", f"then {n}", "Yes.")) for n in range(30)]


def test_a_pool_has_the_real_reply_first_and_nine_others_of_other_dialogues() -> None:
    pools = make_pools(DIALOGUES)
    assert len(pools) == 30 * 4
    for pool in pools:
        assert len(set(pool.replies)) == len(pool.replies) == POOL
        number = pool.context[0].split()[1]
        assert not any(reply.strip("?").endswith(f" {number}") for reply in pool.replies[1:])


def test_the_same_seed_draws_the_same_pools_and_another_seed_others() -> None:
    assert make_pools(DIALOGUES, most=20) == make_pools(DIALOGUES, most=20)
    assert make_pools(DIALOGUES, most=20) != make_pools(DIALOGUES, most=20, seed=1)
    assert len(make_pools(DIALOGUES, most=20)) == 20


def test_a_reply_that_is_the_real_one_in_other_letters_is_no_wrong_one() -> None:
    pools = make_pools([Dialogue(("a", "Yes.")), Dialogue(("b", "YES.")), Dialogue(("c", "No."))])
    assert all(len({reply.casefold() for reply in pool.replies}) == len(pool.replies) for pool in pools)


@given(st.lists(st.lists(st.integers(0, 3), min_size=2, max_size=5), min_size=1, max_size=4))
@settings(max_examples=40)
def test_equal_scores_count_as_the_mean_over_all_orders(scores: list[list[int]]) -> None:
    firsts, seconds, reciprocal = [], [], []
    for own in scores:
        ranks = []
        for order in permutations(range(len(own))):  # of equals the one that comes first in the order wins
            place = {reply: position for position, reply in enumerate(order)}
            best = sorted(range(len(own)), key=lambda reply: (-own[reply], place[reply]))
            ranks.append(best.index(0) + 1)
        firsts.append(np.mean([rank == 1 for rank in ranks]))
        seconds.append(np.mean([rank <= 2 for rank in ranks]))
        reciprocal.append(np.mean([1 / rank for rank in ranks]))
    found = ranked([np.array(own, np.float32) for own in scores])
    assert found.r10_at_1 == pytest.approx(np.mean(firsts))
    assert found.r10_at_2 == pytest.approx(np.mean(seconds))
    assert found.mrr == pytest.approx(np.mean(reciprocal))


def test_words_in_common_put_a_reply_first() -> None:
    pools = [Pool(("do you like tea?",), ("tea is fine", "snow fell")), Pool(("cold snow",), ("snow!", "tea is fine"))]
    assert [int(scores.argmax()) for scores in by_words(pools)] == [0, 0]


def test_a_single_dialogue_cannot_be_measured_on() -> None:
    with pytest.raises(InputError, match="wanted two or more"):
        make_pools(DIALOGUES[:1])
