"""The queue of a model, in made time: batches are fair and bounded, and nobody gets what another asked for."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmask.serve.batcher import Batcher, Closed, DeadlinePassed, ModelThread, QueueFull

from .made_clock import run


class Model:
    """Doubles numbers in a second a batch, refuses words, and remembers its batches."""

    def __init__(self, seconds: float = 1.0) -> None:
        self.seconds = seconds
        self.batches: list[list[Any]] = []

    async def __call__(self, batch: list[Any]) -> list[Any]:
        self.batches.append(batch)
        await asyncio.sleep(self.seconds)
        return [2 * example if isinstance(example, int) else [][example] for example in batch]


def one_each(_: object) -> int:
    return 1


def now() -> float:
    return asyncio.get_running_loop().time()


async def later(seconds: float, work: Callable[[], Awaitable[Any]]) -> Any:
    await asyncio.sleep(seconds)
    return await work()


def test_a_lonely_request_is_computed_at_once() -> None:
    async def ask() -> float:
        await Batcher(Model(), weigh=one_each, patience=5.0).submit([1])
        return now()

    assert run(ask()) == 1.0


def test_requests_that_arrive_while_the_model_is_busy_go_through_together() -> None:
    model = Model()

    async def ask() -> list[Any]:
        batcher = Batcher(model, weigh=one_each)
        return await asyncio.gather(
            batcher.submit([1]), *(later(0.1 * n, lambda n=n: batcher.submit([n])) for n in (2, 3, 4))
        )

    assert run(ask()) == [[2], [4], [6], [8]]
    assert model.batches == [[1], [2, 3, 4]]


def test_who_was_answered_together_is_waited_for_but_not_longer_than_patience_lasts() -> None:
    model = Model()

    async def client(batcher: Batcher, pauses: list[float]) -> None:
        for pause in pauses:
            await asyncio.sleep(pause)
            await batcher.submit([1])

    async def ask() -> float:
        batcher = Batcher(model, weigh=one_each, patience=0.5)
        await asyncio.gather(client(batcher, [0, 0]), client(batcher, [0, 0.4]), client(batcher, [0, 9]))
        return now()

    run(ask())
    assert [len(batch) for batch in model.batches] == [3, 2, 1]


def test_a_large_request_does_not_hold_up_a_small_one() -> None:
    model = Model()

    async def ask() -> tuple[float, float]:
        batcher = Batcher(model, weigh=one_each, largest=10, patience=0)
        ends: dict[str, float] = {}

        async def timed(name: str, examples: list[int]) -> None:
            await batcher.submit(examples)
            ends[name] = now()

        await asyncio.gather(timed("large", list(range(1000))), later(0.5, lambda: timed("small", [1, 2])))
        return ends["small"], ends["large"]

    small, large = run(ask())
    assert small == 2.0
    assert large == 101.0


def test_a_batch_weighs_no_more_than_asked_unless_one_example_does() -> None:
    model = Model()

    async def ask() -> None:
        batcher = Batcher(model, weigh=lambda example: example, largest=10)
        await asyncio.gather(*(batcher.submit([n]) for n in (4, 4, 4, 25, 1)))

    run(ask())
    assert [sum(batch) for batch in model.batches] == [8, 4, 25, 1]


def test_a_full_queue_refuses_and_says_when_to_come_back() -> None:
    async def ask() -> int:
        batcher = Batcher(Model(), weigh=one_each, largest=2, limit=6)
        await batcher.submit([1, 2])  # two a second
        accepted = [asyncio.create_task(batcher.submit([1, 2])) for _ in range(3)]
        await asyncio.sleep(0)
        with pytest.raises(QueueFull) as refused:
            await batcher.submit([1, 2, 3, 4])
        await asyncio.gather(*accepted)
        assert await batcher.submit([5]) == [10]
        return refused.value.retry_after

    assert run(ask()) == 2


def test_a_request_larger_than_the_queue_is_answered_where_nobody_waits() -> None:
    assert run(Batcher(Model(), weigh=one_each, limit=3).submit([1] * 9)) == [2] * 9


def test_a_deadline_passes_while_waiting_and_what_is_late_is_never_computed() -> None:
    model = Model(seconds=10)

    async def ask() -> float:
        batcher = Batcher(model, weigh=one_each)
        first = asyncio.create_task(batcher.submit([1]))
        await asyncio.sleep(1)
        with pytest.raises(DeadlinePassed, match="within 2 s"):
            await batcher.submit([2], timeout=2)
        late = now()
        assert await first == [2]
        await batcher.drain()
        assert batcher.waiting == 0
        return late

    assert run(ask()) == 3.0
    assert model.batches == [[1]]


def test_a_client_that_goes_away_leaves_no_work_behind() -> None:
    model = Model()

    async def ask() -> None:
        batcher = Batcher(model, weigh=one_each, largest=2)
        gone = asyncio.create_task(batcher.submit([1] * 100))
        await asyncio.sleep(1.5)
        gone.cancel()
        assert await batcher.submit([3]) == [6]
        assert batcher.waiting == 0

    run(ask())
    assert model.batches == [[1, 1], [1, 1], [3]]


def test_the_error_of_one_example_does_not_touch_the_others() -> None:
    async def ask() -> list[Any]:
        batcher = Batcher(Model(), weigh=one_each)
        return await asyncio.gather(batcher.submit([1, "two"]), batcher.submit([3]), batcher.submit([4, 5]))

    mixed, *others = run(ask())
    assert others == [[6], [8, 10]]
    assert mixed[0] == 2
    assert isinstance(mixed[1], TypeError)


def test_draining_answers_all_that_was_accepted_and_accepts_no_more() -> None:
    async def ask() -> list[Any]:
        batcher = Batcher(Model(), weigh=one_each, largest=2)
        accepted = [asyncio.create_task(batcher.submit([n] * 3)) for n in range(5)]
        await asyncio.sleep(0.5)
        await batcher.drain()
        with pytest.raises(Closed):
            await batcher.submit([1])
        return await asyncio.gather(*accepted)

    assert run(ask()) == [[2 * n] * 3 for n in range(5)]


def test_no_examples_have_no_outcomes() -> None:
    assert run(Batcher(Model()).submit([])) == []


REQUESTS = st.lists(
    st.tuples(
        st.floats(0, 5),  # when it comes
        st.lists(st.one_of(st.integers(), st.just("refused")), max_size=20),
        st.none() | st.floats(0.1, 5),  # how long it waits
    ),
    max_size=20,
)


def test_what_could_not_be_answered_in_time_is_refused_at_once() -> None:
    async def ask() -> list[Any]:
        batcher = Batcher(Model(), weigh=one_each, largest=2, limit=10_000)
        await batcher.submit([1, 2])  # two a second
        asked = [asyncio.create_task(batcher.submit([1] * 10, timeout=40)) for _ in range(8)]
        found = await asyncio.gather(*asked, return_exceptions=True)
        assert await batcher.submit([5], timeout=40) == [10]
        return found

    found = run(ask())
    assert [len(one) for one in found if isinstance(one, list)] == [10] * 4
    assert [one.retry_after for one in found if isinstance(one, QueueFull)] == [5] * 4


@given(REQUESTS, st.integers(1, 8), st.integers(1, 40), st.floats(0, 2))
def test_everyone_gets_their_own_outcomes_or_is_told_why_not(
    requests: list[Any], largest: int, limit: int, patience: float
) -> None:
    model = Model()
    batcher = Batcher(model, weigh=one_each, largest=largest, limit=limit, patience=patience)

    async def ask(at: float, examples: list[Any], timeout: float | None) -> list[Any] | Exception:
        try:
            return await later(at, lambda: batcher.submit(examples, timeout=timeout))
        except (QueueFull, DeadlinePassed) as error:
            return error

    async def everyone() -> list[Any]:
        answers = await asyncio.gather(*(ask(*request) for request in requests))
        await batcher.drain()
        return answers

    for (_, examples, timeout), outcomes in zip(requests, run(everyone()), strict=True):
        if isinstance(outcomes, DeadlinePassed):
            assert timeout is not None
        elif not isinstance(outcomes, QueueFull):
            told = ["refused" if isinstance(outcome, TypeError) else outcome for outcome in outcomes]
            assert told == [example if example == "refused" else 2 * example for example in examples]
    assert all(len(batch) <= largest for batch in model.batches)
    assert batcher.waiting == 0


def test_a_model_thread_computes_away_from_the_loop_one_batch_at_a_time() -> None:
    import threading

    thread = ModelThread("there", lambda batch: [threading.current_thread().name for _ in batch])

    async def ask() -> list[Any]:
        batcher = Batcher(thread)
        return [name for names in await asyncio.gather(*(batcher.submit([n]) for n in range(9))) for name in names]

    names = asyncio.run(ask())
    thread.close()
    assert set(names) == {"there_0"}
