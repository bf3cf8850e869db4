from pathlib import Path

import numpy as np
import pytest

from unmask.lab.bench_exported import FORMS, measure_exported, write_forms
from unmask.lab.bench_finetune import KINDS, make_trial
from unmask.model.outputs import outputs_of
from unmask.runtime.folder import open_serving

pytestmark = pytest.mark.usefixtures("little_trials")


@pytest.mark.parametrize("kind", KINDS)
def test_both_forms_say_what_the_model_says(kind: str, tmp_path: Path) -> None:
    trial = make_trial(kind)
    write_forms(trial, tmp_path)
    expected = outputs_of(trial.model, trial.rows)
    for form, within in zip(FORMS.values(), (1e-4, 0.05), strict=True):
        for ours, said in zip(expected, open_serving(tmp_path / form).engine.outputs(trial.rows), strict=True):
            np.testing.assert_allclose(said, ours, atol=within)


def test_both_forms_are_measured_in_turns_with_both_orders() -> None:
    measured = measure_exported(make_trial("classify"), rounds=2, against_transformers=True)
    assert list(measured) == list(FORMS)
    for speeds in measured.values():
        assert [len(side) for side in (speeds.ours, speeds.theirs, speeds.bucketed)] == [2, 2, 2]


def test_without_a_rival_only_ours_is_measured() -> None:
    measured = measure_exported(make_trial("answer"), rounds=1, against_transformers=False)
    assert [speeds.theirs for speeds in measured.values()] == [(), ()]
