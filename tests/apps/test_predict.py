"""Answers of serving folders are those of model folders; one bad row spares the others."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from products import need_products_in
from small_models import small_model

from unmask.apps.predict import BLOCK, Predictor
from unmask.apps.refusing import LONGEST_TEXT, Refused
from unmask.compress.export import export
from unmask.data.examples import ChoiceExample, QuestionExample, Reading, TextExample
from unmask.decode.labels import Classified
from unmask.errors import InputError
from unmask.model.folder import ModelFolder, save_model

GIVEN = {
    "classes": ["the fox", "they had hoped for what?", ""],
    "regression": ["the fox", ("the dog", "a brown dog was lazy")],
    "tokens": ["the fox was lazy.", "我们明天去北京"],
    "tags_crf": ["the fox was lazy.", "nobody"],
    "span": [QuestionExample("what was lazy ?", "the quick brown fox was not lazy . the dog was ." * 4)],
    "choice": [ChoiceExample("they had", ("hoped", "the fox", "a dog , lazy"))],
    "embedding": ["the fox", "the quick brown fox was not what they had hoped for " * 5],
}


def saved(opened: ModelFolder, folder: Path) -> Path:
    save_model(folder, opened.config, opened.model, opened.tokenizer, opened.about)
    return folder


def rounded(answer: object) -> object:
    if isinstance(answer, float):
        return pytest.approx(answer, abs=1e-4)
    if isinstance(answer, dict):
        return {name: rounded(part) for name, part in answer.items()}
    return [rounded(part) for part in answer] if isinstance(answer, list) else answer


@pytest.mark.parametrize("head", GIVEN)
def test_both_engines_give_the_same_answers(head: str, tmp_path: Path) -> None:
    opened = small_model(head, long_text="windows" if head == "embedding" else "head")
    torch, onnx = (
        Predictor.open(folder)
        for folder in (saved(opened, tmp_path / "model"), export(opened, tmp_path / "serving").folder)
    )
    assert (torch.engine, onnx.engine) == ("torch", "onnxruntime")
    for ours, theirs in zip(onnx(GIVEN[head]), torch(GIVEN[head]), strict=True):
        assert ours.to_dict() == rounded(theirs.to_dict())


@pytest.mark.parametrize("head", GIVEN)
def test_answers_in_bfloat16_are_nearly_those_in_float32(head: str) -> None:
    need_products_in("bfloat16")
    opened = small_model(head)
    exact, quick = Predictor.of(opened), Predictor.of(opened, precision="bfloat16")
    assert (exact.engine, quick.engine) == ("torch", "torch, products in bfloat16")
    rows = exact.task.rows([exact.example(one) for one in GIVEN[head]], exact.tokenizer)
    pairs = list(zip(exact.outputs(rows), quick.outputs(rows), strict=True))
    assert max(abs(ours - theirs).max() for ours, theirs in pairs) > 0
    for ours, theirs in pairs:
        np.testing.assert_allclose(theirs, ours, atol=0.03 * max(1, abs(ours).max()))


def test_a_serving_folder_keeps_its_own_precision(tmp_path: Path) -> None:
    folder = export(small_model("classes"), tmp_path).folder
    with pytest.raises(InputError, match="serving folder"):
        Predictor.open(folder, precision="bfloat16")


@pytest.fixture(scope="module")
def predictor(tmp_path_factory: pytest.TempPathFactory) -> Predictor:
    return Predictor.open(export(small_model("classes"), tmp_path_factory.mktemp("serving")).folder, threads=1)


def test_bad_rows_have_errors_and_the_others_answers(predictor: Predictor) -> None:
    bad = ["a\0b", "half \ud83d", "long " * LONGEST_TEXT]
    answers = predictor(["the fox", *bad, "the dog"])
    assert [isinstance(answer, Refused) for answer in answers] == [False, True, True, True, False]
    for word, answer in zip(("NUL", "surrogate", "characters"), answers[1:4], strict=True):
        assert word in answer.to_dict()["error"]
    assert answers[4] == predictor("the dog")


def test_nothing_but_bad_rows_is_no_crash(predictor: Predictor) -> None:
    assert "NUL" in predictor("\0").error
    assert predictor.many([]) == []


def test_a_stream_of_any_length_is_answered_in_order(predictor: Predictor) -> None:
    texts = [TextExample("the fox " * (number % 3)) for number in range(BLOCK + 3)]
    answers = list(predictor.stream(iter(texts)))
    assert len(answers) == len(texts)
    alone, found = predictor("the fox " * (BLOCK % 3)), answers[BLOCK]
    assert isinstance(found, Classified)
    assert found.label == alone.label
    assert found.probabilities == pytest.approx(alone.probabilities, abs=1e-5)  # batches round otherwise


def test_a_score_is_the_same_and_a_bad_example_is_named(predictor: Predictor) -> None:
    examples = (TextExample("the fox", label="good"), TextExample("the dog", label="bad"))
    assert 0 <= predictor.evaluate(Reading(examples))["accuracy"] <= 1
    with pytest.raises(InputError, match="file line 2, which cannot be answered: got a NUL"):
        predictor.evaluate(
            Reading((examples[0], replace(examples[1], text="\0")), places=("file line 1", "file line 2"))
        )


def test_a_label_that_the_model_does_not_have_is_named_before_anything_is_answered(predictor: Predictor) -> None:
    examples = (TextExample("the fox", label="good"), TextExample("the dog", label="1"))
    with pytest.raises(InputError, match="file line 2: label '1', which the model does not have"):
        predictor.evaluate(Reading(examples, places=("file line 1", "file line 2")))


def test_a_serving_folder_on_another_device_is_refused(tmp_path: Path) -> None:
    export(small_model("classes"), tmp_path)
    with pytest.raises(InputError, match="a serving folder"):
        Predictor.open(tmp_path, device="cuda")
