"""Searching, learning curves and all of GLUE, on made examples."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from reviews import ROWS, request

from unmask.data.splitting import first_share
from unmask.errors import InputError
from unmask.model.feature_cache import FeatureCache
from unmask.model.folder import open_model
from unmask.tasks.finetuning import FEATURE_RECIPE, fitting_rate
from unmask.tasks.finetuning_run import FineTuningRun, Request
from unmask.tasks.glue import run_glue
from unmask.tasks.learning_curve import learning_curve
from unmask.tasks.searching import choices_for, search
from unmask.tasks.several_runs import several_runs


def test_a_search_keeps_the_best_and_stops_in_time(encoder: Path, reviews: Path, tmp_path: Path) -> None:
    found = search(request(encoder, reviews, tmp_path / "found"), budget=0.0)
    assert len(found.trials) == 1  # the first is always tried
    assert found.left_out == 11
    again = search(request(encoder, reviews, tmp_path / "found"), budget=60.0)
    assert len(again.trials) > 1
    assert again.best.score == max(trial.score for trial in again.trials)
    assert open_model(tmp_path / "found").about.scores["accuracy"] == again.best.score


def test_a_search_over_frozen_features_tries_the_rates_of_a_head(encoder: Path, reviews: Path, tmp_path: Path) -> None:
    frozen = request(encoder, reviews, tmp_path / "found", features="last", reader="linear")
    [trial] = search(frozen, budget=0.0).trials
    assert {"learning_rate": trial.learning_rate, "epochs": trial.epochs} == FEATURE_RECIPE
    rates = sorted({rate for rate, _ in choices_for(frozen)})
    assert (rates[0], rates[-1]) == (1e-4, 1e-2)
    changes = {**frozen.changes, "features": ""}
    width = open_model(encoder).config.width
    assert max(rate for rate, _ in choices_for(replace(frozen, changes=changes))) == fitting_rate(5e-5, width) > 5e-5
    without = choices_for(replace(frozen, changes={**changes, "freeze": "all"}))
    assert sorted({rate for rate, _ in without}) == rates


@pytest.mark.parametrize("take", [lambda asked: search(asked, budget=60.0), lambda asked: several_runs(asked, (0, 1))])
def test_runs_on_the_same_examples_compute_features_once(
    take: Callable[[Request], object], encoder: Path, reviews: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    computed, fill = [], FeatureCache._fill
    monkeypatch.setattr(FeatureCache, "_fill", lambda cache: (computed.append(cache.path), fill(cache)))
    take(request(encoder, reviews, tmp_path / "found", features="last", reader="linear", epochs=1))
    assert [path.parent for path in computed] == [tmp_path / "found" / "features"]
    assert not list((tmp_path / "found").rglob("features.*"))  # given back


def test_a_head_on_a_frozen_encoder_takes_the_steps_of_a_head(encoder: Path, reviews: Path, tmp_path: Path) -> None:
    asked = request(encoder, reviews, tmp_path / "head", freeze="all")
    own = FineTuningRun(replace(asked, changes={"freeze": "all"}))
    assert own.settings.learning_rate == FEATURE_RECIPE["learning_rate"]
    named = FineTuningRun(replace(asked, changes={"freeze": "all", "learning_rate": 2e-3}))
    assert named.settings.learning_rate == 2e-3


def test_a_learning_curve_grows_by_adding_examples(encoder: Path, reviews: Path, tmp_path: Path) -> None:
    found = learning_curve(request(encoder, reviews, tmp_path / "curve", epochs=2))
    assert [point.examples for point in found.points] == [round(len(ROWS) * share) for share in (0.1, 0.2, 0.4, 0.7, 1)]
    assert (tmp_path / "curve" / "learning_curve.png").stat().st_size > 1000
    shares = [set(first_share(100, share, 5)) for share in (0.1, 0.5, 1.0)]
    assert shares[0] < shares[1] < shares[2] == set(range(100))


def test_glue_runs_the_sets_that_are_there(encoder: Path, reviews: Path, tmp_path: Path) -> None:
    glue = tmp_path / "glue"
    for name, header in (("SST-2", "sentence\tlabel"), ("RTE", "index\tsentence1\tsentence2\tlabel")):
        (glue / name).mkdir(parents=True)
        for part in ("train", "dev"):
            rows = [
                _sst(text, label) if name == "SST-2" else _rte(n, text, label) for n, (text, label) in enumerate(ROWS)
            ]
            (glue / name / f"{part}.tsv").write_text("\n".join([header, *rows]) + "\n")
    asked = replace(request(encoder, reviews, tmp_path / "all", epochs=1), task="glue", train=glue, dev=None)
    table = run_glue(asked)
    assert [row.name for row in table.rows] == ["sst2", "rte"]
    assert "mnli" in table.left_out
    assert "93.5" in table.to_words()  # the paper's SST-2
    with pytest.raises(InputError, match="without a set of GLUE"):
        run_glue(replace(asked, train=tmp_path))


def _sst(text: str, label: str) -> str:
    return f"{text}\t{int(label == 'positive')}"


def _rte(number: int, text: str, label: str) -> str:
    return f"{number}\t{text}\tthe day\t{'entailment' if label == 'positive' else 'not_entailment'}"
