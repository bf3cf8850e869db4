"""Requests of many clients -> batches of one model: examples in, an outcome for each out, to whoever asked for it.

A model computes one batch at a time. What arrives meanwhile waits in a queue that has an end, and goes through together
in the next batch: one example of each request in turn, so that a request of a thousand texts does not hold up one of
two. A moment's waiting for company (`patience`) is only spent when there was company in the batch before.
"""

import asyncio
import math
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

Compute = Callable[[list[Any]], Awaitable[Sequence[Any]]]
Watch = Callable[[int, float], None]  # told after each batch: examples in it, seconds that it took

LARGEST = 16_384  # weight of a batch: about 4,000 tokens of English, a tenth of a second on a small model
LIMIT = 4_194_304  # weight that may wait
BATCHES = 8  # that may wait however slow the model seems
TIMELY = 0.5  # of a request's time may be spent with what waits before it: others come in between
PATIENCE = 0.002  # seconds
OVERHEAD = 64  # what an example weighs beside its characters


class QueueFull(Exception):
    """No room for a request at the moment."""

    def __init__(self, retry_after: int) -> None:
        self.retry_after = retry_after  # whole seconds after which there should be room
        super().__init__(f"too many requests are waiting; try again in {retry_after} s")


class DeadlinePassed(Exception):
    """A request was not answered in its time."""


class Closed(Exception):
    """The model takes no more requests."""


@dataclass(eq=False)
class _Request:
    """The examples of one client: those that wait, and the outcomes of those that are done."""

    examples: Sequence[Any]
    weights: Sequence[int]
    done: "asyncio.Future[None]"
    taken: int = 0
    finished: int = 0
    outcomes: list[Any] = field(default_factory=list)

    @property
    def left(self) -> int:
        """What waits, by weight."""
        return sum(self.weights[self.taken :])


@dataclass(frozen=True)
class _Place:
    """Where an outcome belongs."""

    request: _Request
    number: int


class Batcher:
    """The queue of one model.

    >>> async def double(batch):
    ...     return [2 * example for example in batch]
    >>> async def ask():
    ...     batcher = Batcher(double)
    ...     return await asyncio.gather(batcher.submit([1, 2]), batcher.submit([3]))
    >>> asyncio.run(ask())
    [[2, 4], [6]]
    """

    def __init__(
        self,
        compute: Compute,
        *,
        weigh: Callable[[Any], int] = lambda _: OVERHEAD,
        largest: int = LARGEST,
        limit: int = LIMIT,
        patience: float = PATIENCE,
        watch: Watch = lambda *_: None,
    ) -> None:
        self.compute, self.weigh, self.watch = compute, weigh, watch
        self.largest, self.limit, self.patience = largest, limit, patience
        self.waiting = 0  # weight in the queue
        self._queue: deque[_Request] = deque()
        self._speed = 0.0  # weight a second, of late
        self._company = 1  # requests that were in the last batch
        self._worker: asyncio.Task[None] | None = None
        self._filled = asyncio.Event()
        self._closed = False

    async def submit(self, examples: Sequence[Any], *, timeout: float | None = None) -> list[Any]:
        """The outcome of each example: its result, or the exception that it alone caused."""
        if self._closed:
            raise Closed("this model takes no more requests")
        if not examples:
            return []
        request = self._accept(examples, timeout)
        try:
            async with asyncio.timeout(timeout):
                await request.done
        except TimeoutError:
            raise DeadlinePassed(f"not answered within {timeout:g} s") from None
        finally:
            self._leave(request)
        return request.outcomes

    async def drain(self) -> None:
        """Takes no more requests, and comes back when all that were accepted are answered."""
        self._closed = True
        if self._worker is not None:
            await asyncio.wait([self._worker])

    def _accept(self, examples: Sequence[Any], timeout: float | None) -> _Request:
        weights = [self.weigh(example) for example in examples]
        weight, room = sum(weights), self._room(timeout)
        # A request that is larger than the whole queue is still answered where nobody else waits.
        if self._queue and self.waiting + weight > room:
            raise QueueFull(self._seconds_until(room - weight))
        request = _Request(examples, weights, asyncio.get_running_loop().create_future())
        request.outcomes = [None] * len(examples)
        self.waiting += weight
        self._queue.append(request)
        self._filled.set()
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._work())
        return request

    def _leave(self, request: _Request) -> None:
        """What nobody waits for any more is not computed."""
        self.waiting -= request.left
        request.taken = len(request.examples)
        if request in self._queue:
            self._queue.remove(request)

    async def _work(self) -> None:
        """Batch after batch until nothing waits."""
        while self._queue:
            await self._wait_for_company()
            if places := self._next_batch():
                self._company = len({id(place.request) for place in places})
                await self._run(places)

    async def _wait_for_company(self) -> None:
        """A moment in which those who were answered together can ask again together."""
        until = asyncio.get_running_loop().time() + self.patience
        while len(self._queue) < self._company and self.waiting < self.largest and not self._closed:
            self._filled.clear()
            try:
                async with asyncio.timeout_at(until):
                    await self._filled.wait()
            except TimeoutError:
                return

    def _next_batch(self) -> list[_Place]:
        """One example of each request in turn, until the batch weighs enough; at least one."""
        places: list[_Place] = []
        room = self.largest
        while self._queue:
            request = self._queue[0]
            weight = request.weights[request.taken]
            if places and weight > room:
                break
            self._queue.popleft()
            places.append(_Place(request, request.taken))
            request.taken += 1
            room -= weight
            self.waiting -= weight
            if request.taken < len(request.examples):
                self._queue.append(request)
        return places

    async def _run(self, places: Sequence[_Place]) -> None:
        loop = asyncio.get_running_loop()
        started = loop.time()
        outcomes = await self._outcomes([place.request.examples[place.number] for place in places])
        seconds = loop.time() - started
        weight = sum(place.request.weights[place.number] for place in places)
        recent = weight / max(seconds, 1e-6)
        self._speed = recent if not self._speed else 0.8 * self._speed + 0.2 * recent
        self.watch(len(places), seconds)
        for place, outcome in zip(places, outcomes, strict=True):
            request = place.request
            request.outcomes[place.number] = outcome
            request.finished += 1
            if request.finished == len(request.examples) and not request.done.done():
                request.done.set_result(None)

    async def _outcomes(self, batch: list[Any]) -> list[Any]:
        """Results; where a batch fails, its halves are tried, until the example at fault is alone with its error."""
        try:
            found = list(await self.compute(batch))
            assert len(found) == len(batch), "a model gives one result for each example"
            return found
        except Exception as error:
            if len(batch) == 1:
                return [error]
        middle = len(batch) // 2
        return [*await self._outcomes(batch[:middle]), *await self._outcomes(batch[middle:])]

    def _room(self, timeout: float | None) -> float:
        """What may wait: no more than can be answered in time, where it is known how fast that goes."""
        if timeout is None or not self._speed:
            return self.limit
        # lonely examples make a model look slower than it is in batches: some of those may always wait
        return min(self.limit, max(BATCHES * self.largest, TIMELY * timeout * self._speed))

    def _seconds_until(self, waiting: float) -> int:
        """Whole seconds after which no more than this should be waiting."""
        return max(1, math.ceil((self.waiting - max(0.0, waiting)) / self._speed)) if self._speed else 1


class ModelThread:
    """The one thread on which a model computes, so that the server can go on listening.

    >>> thread = ModelThread("doubling", lambda batch: [2 * example for example in batch])
    >>> asyncio.run(thread([1, 2]))
    [2, 4]
    >>> thread.close()
    """

    def __init__(self, name: str, run: Callable[[list[Any]], Sequence[Any]]) -> None:
        self.run = run
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix=name)

    async def __call__(self, batch: list[Any]) -> Sequence[Any]:
        return await asyncio.get_running_loop().run_in_executor(self._executor, self.run, batch)

    def close(self) -> None:
        """Lets the thread go, when it has finished what it does."""
        self._executor.shutdown(wait=False)
