"""One fine-tuning with several seeds: mean and deviation, the best model kept, nothing done twice."""

import json
import statistics
from pathlib import Path

import pytest

from unmask.errors import InputError
from unmask.model.about import About
from unmask.model.bert import Bert
from unmask.model.config import BertConfig
from unmask.model.folder import open_model, save_model
from unmask.tasks.finetuning_run import FineTuningRun, Outcome, Request
from unmask.tasks.several_runs import several_runs
from unmask.text.tokenizer import Tokenizer
from unmask.text.vocabulary import SPECIAL_PIECES

WORDS = ("good", "fine", "bright", "bad", "dull", "dark")
CONFIG = BertConfig(vocabulary_size=5 + len(WORDS), width=16, layers=1, heads=2, feed_forward=32, positions=16)


@pytest.fixture
def request_(tmp_path: Path) -> Request:
    save_model(tmp_path / "encoder", CONFIG, Bert(CONFIG), Tokenizer([*SPECIAL_PIECES, *WORDS]), About())
    rows = [f"{word} {other},{'yes' if word < other else 'no'}\n" for word in WORDS for other in WORDS]
    (tmp_path / "train.csv").write_text("text,label\n" + "".join(rows))
    changes = {"epochs": 1, "learning_rate": 5e-3, "batch_size": 8}
    path = tmp_path / "train.csv"
    return Request("classify", str(tmp_path / "encoder"), path, tmp_path / "model", dev=path, changes=changes)


def test_the_mean_and_the_best_of_several_seeds(request_: Request) -> None:
    found = several_runs(request_, [3, 4, 5])
    scores = [found.scores[seed] for seed in ("3", "4", "5")]
    assert found.score == pytest.approx(statistics.mean(scores))
    assert found.deviation == pytest.approx(statistics.stdev(scores))
    opened = open_model(request_.folder)
    assert opened.about.scores["accuracy"] == max(scores)
    assert opened.about.provenance["best_of_runs"]["mean"] == found.score
    assert json.loads((request_.folder / "runs.json").read_text())["best"].endswith(
        f"run-{3 + scores.index(max(scores))}"
    )
    assert (request_.folder / "report.html").exists()


def test_a_finished_run_is_not_repeated_and_an_interrupted_one_goes_on(request_: Request) -> None:
    def interrupted(run: FineTuningRun) -> Outcome:
        return run.train(stop=lambda: run.settings.seed == 1 and run.tuning.run.step >= 2)

    with pytest.raises(KeyboardInterrupt):
        several_runs(request_, [0, 1], train=interrupted)
    before = (request_.folder / "run-0" / "model.safetensors").stat().st_mtime_ns
    steps: list[int] = []
    found = several_runs(request_, [0, 1], train=lambda run: run.train(lambda at: steps.append(at.step.number)))
    assert steps == [3, 4, 5]
    assert (request_.folder / "run-0" / "model.safetensors").stat().st_mtime_ns == before
    assert set(found.scores) == {"0", "1"}


def test_one_run_has_no_deviation_and_no_run_is_refused(request_: Request) -> None:
    assert several_runs(request_, [7]).deviation == 0.0
    with pytest.raises(InputError, match="no runs"):
        several_runs(request_, [])
