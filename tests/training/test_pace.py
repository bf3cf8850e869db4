from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

from unmask.training.pace import Pace


@given(st.integers(2, 10_000), st.lists(st.tuples(st.floats(0.01, 0.99), st.integers(1, 5_000)), max_size=5))
@example(13, [(0.125, 13), (0.125, 3)])
@example(5, [(0.2, 5), (0.2, 3)])
def test_however_often_it_is_made_anew_the_schedule_is_whole_and_never_goes_back(
    steps: int, changes: list[tuple[float, int]]
) -> None:
    pace = Pace.of(steps)
    at = 0
    for share, remaining in changes:
        at += max(1, int((pace.steps - at) * share))
        if at >= pace.steps:
            break
        pace = pace.again(at, remaining)
    places = [pace.scheduled(step) for step in range(0, pace.steps + 1, max(1, pace.steps // 50))]
    assert places == sorted(places)
    assert pace.scheduled(0) == 0
    assert pace.scheduled(pace.steps) == steps


def test_a_saved_plan_is_the_same_plan(tmp_path: Path) -> None:
    pace = Pace.of(1000).again(333, remaining=77)
    pace.save(tmp_path / "pace.json")
    assert Pace.load(tmp_path / "pace.json") == pace


def test_the_past_does_not_change_when_the_future_is_planned_again() -> None:
    pace = Pace.of(100)
    later = pace.again(40, remaining=30)
    assert [pace.scheduled(step) for step in range(41)] == [later.scheduled(step) for step in range(41)]


def test_the_speed_is_measured_again_a_few_times() -> None:
    pace = Pace.of(1000)
    assert [step for step in range(1, 1001) if pace.is_check(step)] == [20, 100, 250, 500, 750, 900, 970, 990]
