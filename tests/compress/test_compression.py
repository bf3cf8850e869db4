"""Compression from request to folder: every recipe gives a folder that opens, is scored, timed and reported."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from stores import EXAMPLES, TASK, TEXTS, TOKENIZER, classifier, config, model

from unmask.compress.choose import Target, candidates
from unmask.compress.compression import Request, compress
from unmask.compress.learning import AGAIN, learn
from unmask.compress.material import made_examples, read_material
from unmask.compress.recipe import Means, Recipe, carry_out, total_bytes
from unmask.compress.report import JSON, PICTURE, measure, table
from unmask.compress.timing import Timed, answer_all, time_folder
from unmask.compress.variant import masked_accuracy, of_model, open_variant
from unmask.data.examples import TextExample
from unmask.errors import InputError
from unmask.model.about import About
from unmask.model.bert import Bert
from unmask.model.config import BertConfig
from unmask.model.folder import ModelFolder, open_model, save_model
from unmask.model.heads import BertWithHead
from unmask.model.names import LoadReport
from unmask.tasks.kinds import KINDS

ABOUT = About(head="classes", labels=TASK.labels, max_length=16)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A classifier that knows its examples, and beside it files of these with labels and without."""
    place = tmp_path_factory.mktemp("shops")
    taught = classifier(initial_deviation=0.05)
    settings = replace(AGAIN, epochs=8, learning_rate=5e-3, batch_size=16, dropout=0.0)
    learn(place / "work", TASK, taught, TOKENIZER, EXAMPLES, (), settings)
    save_model(place / "whole", taught.bert.config, taught.eval(), TOKENIZER, ABOUT)
    rows = "".join(f"{example.text},{example.label}\n" for example in EXAMPLES)
    (place / "labelled.csv").write_text(f"text,label\n{rows}")
    (place / "texts.txt").write_text("\n".join(TEXTS) + "\n")
    return place


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures without processes: the fewer bytes, the faster."""

    def time_folder(folder: Path, examples: list[object]) -> Timed:
        assert examples
        return Timed(0.5, (0.001, 0.003), 1e9 / total_bytes(Path(folder)), open_variant(folder).engine)

    monkeypatch.setattr("unmask.compress.report.time_folder", time_folder)
    monkeypatch.setattr("unmask.compress.choose.time_folder", time_folder)


def _asked(folder: Path, output: Path, recipe: Recipe, **more: object) -> Request:
    changes = {"epochs": 8, "learning_rate": 5e-3, "batch_size": 16}
    data = {"data": folder / "labelled.csv", "dev": folder / "labelled.csv"}
    return Request(str(folder / "whole"), output, recipe, **{**data, "changes": changes, **more})  # type: ignore[arg-type]


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    "recipe",
    [Recipe(layers=2, heads=0.5, neurons=0.5), Recipe(distil_to="1x32"), Recipe(form="int8")],
    ids=lambda r: r.name,
)
def test_a_smaller_folder_answers_and_says_what_it_lost(recipe: Recipe, folder: Path, tmp_path: Path) -> None:
    made = compress(_asked(folder, tmp_path / "small", recipe))
    assert made.bytes_after < made.bytes_before
    assert made.speedup > 1
    assert (made.metric, made.score_before) == ("accuracy", 1.0)
    assert made.score_after is not None
    assert made.score_after > 0.95
    answers = open_variant(tmp_path / "small").answers([TextExample("the market is very friendly")])
    assert answers[0].to_dict()["label"] == "good"
    told = json.loads((tmp_path / "small" / JSON).read_text())
    assert [one["name"] for one in told["variants"]] == ["before", "after"]
    assert (tmp_path / "small" / PICTURE).stat().st_size > 1000
    assert json.loads((tmp_path / "small" / "unmask.json").read_text())["provenance"]["compressed"] == recipe.name
    assert not list(tmp_path.glob(".*"))


@pytest.mark.usefixtures("quick")
def test_trimming_keeps_every_answer_bit_for_bit_and_unlabelled_text_is_enough(folder: Path, tmp_path: Path) -> None:
    few = tmp_path / "few.txt"
    few.write_text("\n".join(TEXTS[:9]))
    request = _asked(folder, tmp_path / "small", Recipe(trim=(few,)), data=few, dev=few)
    made = compress(request)
    assert (made.metric, made.score_after) == ("agreement", 1.0)
    whole, small = open_variant(folder / "whole"), open_variant(tmp_path / "small")
    assert small.tokenizer.size < whole.tokenizer.size
    outputs = [
        one.outputs(TASK.rows([TextExample(text) for text in TEXTS[:9]], one.tokenizer)) for one in (whole, small)
    ]
    assert np.array_equal(outputs[0], outputs[1])


@pytest.mark.usefixtures("quick")
def test_a_student_of_plain_text_is_scored_by_labels_where_dev_has_them(folder: Path, tmp_path: Path) -> None:
    columns = {"text": "text", "label": "label"}
    plain = folder / "texts.txt"
    asked = _asked(folder, tmp_path / "small", Recipe(distil_to="1x32"), data=plain, columns=columns)
    made = compress(replace(asked, beside=(folder / "whole",)))
    assert (made.metric, made.score_before) == ("accuracy", 1.0)
    assert made.score_after is not None
    assert made.score_after > 0.95
    assert [(one.name, one.metric) for one in made.variants] == [
        ("before", "accuracy"),
        ("whole", "accuracy"),
        ("after", "accuracy"),
    ]


@pytest.mark.usefixtures("quick")
def test_heads_are_weighed_by_their_weights_where_only_dev_is_given(folder: Path, tmp_path: Path) -> None:
    made = compress(_asked(folder, tmp_path / "small", Recipe(heads=0.75), data=None, force=True))
    assert made.metric == "accuracy"
    assert sum(map(len, open_model(tmp_path / "small").config.pruned_heads)) == 3


@pytest.mark.usefixtures("quick")
def test_a_model_that_loses_too_much_is_not_written_unless_forced(folder: Path, tmp_path: Path) -> None:
    lossy = _asked(folder, tmp_path / "small", Recipe(distil_to="1x4"), changes={"epochs": 0.1, "learning_rate": 1e-6})
    with pytest.raises(InputError, match="loses"):
        compress(lossy)
    assert not (tmp_path / "small").exists()
    made = compress(replace(lossy, force=True))
    assert made.score_after is not None
    assert made.score_after < 0.95


@pytest.mark.usefixtures("quick")
def test_a_target_is_met_by_the_gentlest_candidate(folder: Path, tmp_path: Path) -> None:
    small = total_bytes(folder / "whole") // 2
    notes: list[str] = []
    made = compress(_asked(folder, tmp_path / "one", Recipe(), target=Target(bytes=small)), notes.append)
    assert made.recipe == "int8"
    assert made.bytes_after <= small
    assert [one.recipe.name for one in made.tried] == ["onnx", "int8"]
    assert any(line.startswith("chosen: int8") for line in notes)
    fast = compress(_asked(folder, tmp_path / "two", Recipe(), target=Target(speedup=1.2)))
    assert fast.speedup >= 1.2
    with pytest.raises(InputError, match="nearest"):
        compress(_asked(folder, tmp_path / "three", Recipe(), target=Target(bytes=100)))


def test_without_examples_no_candidate_has_to_learn() -> None:
    names = [one.name for one in candidates(BertConfig.named("base"), None, trim=(Path("a"),), teaches=False)]
    assert names == ["onnx", "trimmed, onnx", "int8", "trimmed, int8", "trimmed, distilled to static, int8"]
    more = [one.name for one in candidates(BertConfig.named("base"), "classes", trim=(), teaches=True)]
    assert more[2:6] == ["9 layers, int8", "6 layers, int8", "3 layers, int8", "distilled to medium, int8"]
    assert more[-1] == "distilled to tiny, int8"


def _opened(head: str | None) -> ModelFolder:
    about = About(head=head, max_length=16)
    return ModelFolder(config(initial_deviation=0.2), model(head), TOKENIZER, about, LoadReport())


@pytest.mark.parametrize("head", [None, "pretraining", "embedding"])
@pytest.mark.parametrize("asked", [Recipe(layers=2, heads=0.5), Recipe(distil_to="1x16"), Recipe(distil_to="static")])
def test_encoders_of_no_task_learn_from_plain_text(
    head: str | None, asked: Recipe, folder: Path, tmp_path: Path
) -> None:
    opened = _opened(head)
    task = of_model(opened).task
    material = read_material(opened.about, task, folder / "texts.txt", None)
    assert not material.labelled
    means = Means(material, tmp_path / "work", {"epochs": 0.5, "batch_size": 16})
    if asked.distil_to == "static" and head == "pretraining":
        with pytest.raises(InputError, match="vectors"):
            carry_out(asked, opened, means)
        return
    made = carry_out(asked, opened, means)
    save_model(tmp_path / "made", made.config, made.model, made.tokenizer, made.about)
    again = open_model(tmp_path / "made")
    rows = task.rows(material.dev, TOKENIZER)
    outputs = [of_model(one).outputs(rows) for one in (made, again)]
    assert all(np.array_equal(mine, theirs) for mine, theirs in zip(*outputs, strict=True))
    if head == "pretraining":
        assert 0 <= masked_accuracy(of_model(again), material.dev) <= 1
    assert isinstance(again.model, Bert if head is None and asked.distil_to != "static" else BertWithHead)


def test_files_are_read_with_labels_where_they_have_some(folder: Path) -> None:
    whole = read_material(ABOUT, TASK, folder / "labelled.csv", None)
    assert whole.labelled
    assert len(whole.training) + len(whole.dev) == len(EXAMPLES)
    assert {example.label for example in whole.dev} == {"good", "bad"}
    plain = read_material(ABOUT, TASK, folder / "texts.txt", None)
    assert not plain.labelled
    with pytest.raises(InputError, match="no file"):
        read_material(ABOUT, TASK, folder / "none.csv", None)


def test_every_task_can_be_timed_without_examples() -> None:
    for kind in KINDS.values():
        task = kind.task(("O", "B-X")) if kind.task.kind in ("classify", "tag") else kind.task()
        assert task.rows(made_examples(task, 9), TOKENIZER)


def test_what_makes_no_sense_is_refused_before_any_work(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nothing to do"):
        compress(_asked(folder, tmp_path / "x", Recipe()))
    with pytest.raises(InputError, match="itself"):
        compress(_asked(folder, folder / "whole", Recipe(layers=1)))
    with pytest.raises(InputError, match="at once"):
        compress(_asked(folder, tmp_path / "x", Recipe(layers=1, distil_to="tiny")))
    with pytest.raises(InputError, match="--data"):
        compress(Request(str(folder / "whole"), tmp_path / "x", Recipe(distil_to="1x16")))


def test_a_folder_is_timed_from_start_to_first_answer(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer_all(str(folder / "whole"), [TextExample(text) for text in TEXTS[:3]])
    ready, told = capsys.readouterr().out.splitlines()
    assert ready == "ready"
    assert len(json.loads(told)["singles"]) == 3


def test_a_folder_that_does_not_answer_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"does not answer.*no weights"):
        time_folder(tmp_path, [TextExample("a")])


@pytest.mark.slow
def test_variants_are_timed_in_processes_of_their_own(folder: Path) -> None:
    examples = [TextExample(text) for text in TEXTS[:4]]
    (one,) = measure({"whole": folder / "whole"}, {"whole": 10}, examples, rounds=1)
    assert one.cold_start > one.p50 / 1000 > 0
    assert one.p95 >= one.p50
    assert "whole" in table([one])
