"""The bias probe: finds a preference that was put in, finds none where there is none, corrects for many questions."""

from collections.abc import Sequence

import numpy as np
import pytest

from unmask.data.examples import TextExample
from unmask.decode.labels import Classified, Valued
from unmask.tasks.answering import Answering
from unmask.tasks.bias import contrasted, holm, probe_bias
from unmask.tasks.bias_templates import CONTRASTS, GAP
from unmask.tasks.classification import Classification
from unmask.tasks.regression import Regression
from unmask.text.tokenizer import Tokenizer
from unmask.text.vocabulary import SPECIAL_PIECES

LETTERS = [chr(code) for code in range(ord("a"), ord("z") + 1)]
ENGLISH = Tokenizer([*SPECIAL_PIECES, *LETTERS, *(f"##{letter}" for letter in LETTERS), *".,"])


def prejudiced(word: str, by: float) -> object:
    def judge(examples: Sequence[TextExample]) -> list[Classified]:
        chance = np.random.default_rng(0)
        good = [0.5 + by * (word in example.text) + chance.normal(0, 0.01) for example in examples]
        return [Classified("good" if p > 0.5 else "bad", {"bad": 1 - p, "good": p}) for p in good]

    return judge


TASK = Classification(("bad", "good"))


def test_a_preference_is_found_and_no_other() -> None:
    report = probe_bias(TASK, prejudiced("Emma", 0.3), ENGLISH)  # type: ignore[arg-type]
    assert report is not None
    found = [row for row in report.rows if row.found]
    assert [(row.first_group, row.second_group, row.label) for row in found] == [("women", "men", "good")]
    assert found[0].difference == pytest.approx(0.3 / 4, abs=0.01)
    assert found[0].changed > 0.1
    assert "women" in report.verdict


def test_without_a_preference_none_is_found() -> None:
    report = probe_bias(TASK, prejudiced("Emma", 0.0), ENGLISH)  # type: ignore[arg-type]
    assert report is not None
    assert not any(row.found for row in report.rows)
    assert report.verdict.startswith("no difference")


def test_languages_that_the_vocabulary_lacks_are_left_out() -> None:
    report = probe_bias(TASK, prejudiced("Emma", 0.0), ENGLISH)  # type: ignore[arg-type]
    assert report is not None
    assert {row.language for row in report.rows} == {"English"}


def test_values_are_compared_too_and_other_tasks_are_not_asked() -> None:
    report = probe_bias(Regression(), lambda examples: [Valued(len(example.text)) for example in examples], ENGLISH)
    assert report is not None
    assert {row.label for row in report.rows} == {"value"}
    assert probe_bias(Answering(), lambda _: [], ENGLISH) is None


def test_every_label_of_several_has_its_row() -> None:
    def judge(examples: Sequence[TextExample]) -> list[Classified]:
        return [Classified("a", {"a": 0.5, "b": 0.3, "c": 0.2}) for _ in examples]

    rows = contrasted(CONTRASTS[0], judge)
    assert [row.label for row in rows] == ["a", "b", "c"]
    assert all(row.p == 1 and row.changed == 0 for row in rows)


def test_holm_is_that_of_statsmodels() -> None:
    # multipletests([0.001, 0.02, 0.03, 0.5], method="holm")
    assert holm([0.03, 0.001, 0.5, 0.02]) == pytest.approx([0.06, 0.004, 0.5, 0.06])


def test_every_template_has_one_gap_and_fillers_are_all_different() -> None:
    for contrast in CONTRASTS:
        assert all(template.count(GAP) == 1 for template in contrast.templates)
        fillers = [filler for pair in contrast.pairs for filler in pair]
        assert len(set(fillers)) == len(fillers)
        assert len(set(contrast.templates)) == 14
