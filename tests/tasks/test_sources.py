"""Examples of several files and folders: read each in its own way, put together, scored each for itself."""

import json
from pathlib import Path

import pytest
import torch

from unmask.data.examples import GivenAnswer, QuestionExample, Reading, TaggedExample, TextExample
from unmask.decode.spans import Answered, Span
from unmask.errors import InputError
from unmask.model.about import About
from unmask.model.bert import Bert
from unmask.model.config import BertConfig
from unmask.model.folder import open_model, save_model
from unmask.tasks import answering, report_answers
from unmask.tasks.answering import Answering
from unmask.tasks.asked import asked
from unmask.tasks.finetuning_run import FineTuningRun, Outcome, Request
from unmask.tasks.sources import Part, check_agreement, find_sources, joined
from unmask.text.tokenizer import Tokenizer
from unmask.text.vocabulary import SPECIAL_PIECES

WORDS = ("good", "bad", "the", "soup", "tea", "was", "好", "坏", "汤", "茶")
QUICK = {"epochs": 12.0, "learning_rate": 3e-3, "batch_size": 8, "dropout": 0.0, "freeze": "1"}


@pytest.fixture
def encoder(tmp_path: Path) -> Path:
    config = BertConfig(vocabulary_size=len(WORDS) + 5, width=32, layers=2, heads=2, feed_forward=64, positions=32)
    save_model(tmp_path / "encoder", config, Bert(config), Tokenizer([*SPECIAL_PIECES, *WORDS]), About())
    return tmp_path / "encoder"


@pytest.fixture
def english(tmp_path: Path) -> Path:
    """SST-2 in its own layout, with a dev file."""
    rows = [f"the {dish} was {how}\t{label}" for dish in ("soup", "tea") for label, how in enumerate(("bad", "good"))]
    folder = tmp_path / "SST-2"
    folder.mkdir()
    for part in ("train", "dev"):
        (folder / f"{part}.tsv").write_text("\n".join(["sentence\tlabel", *rows * 4]) + "\n")
    return folder


@pytest.fixture
def chinese(tmp_path: Path) -> Path:
    """ChnSentiCorp in its own layout, without a dev file."""
    rows = [f"{label}\t{dish}{how}" for dish in "汤茶" for label, how in enumerate("坏好")]
    folder = tmp_path / "chnsenticorp"
    folder.mkdir()
    (folder / "train.tsv").write_text("\n".join(["label\ttext_a", *rows * 6]) + "\n")
    return folder


def both(english: Path, chinese: Path) -> list[Path]:
    return [Path(f"sst2={english}"), Path(f"chnsenticorp={chinese}")]


def learned(encoder: Path, train: list[Path], folder: Path, **more: object) -> tuple[FineTuningRun, Outcome]:
    names = {"0": "negative", "1": "positive"}
    request = Request("classify", str(encoder), train, folder, rename=names, changes=QUICK, **more)  # type: ignore[arg-type]
    run = FineTuningRun(request)
    return run, run.train()


def test_two_languages_make_one_model_with_scores_for_each(
    encoder: Path, english: Path, chinese: Path, tmp_path: Path
) -> None:
    run, outcome = learned(encoder, both(english, chinese), tmp_path / "model", share_encoder=True)
    assert (len(run.training), outcome.dev_examples) == (16 + 22, 16 + 2)
    assert outcome.by_source == {"sst2": {"accuracy": 1.0}, "chnsenticorp": {"accuracy": 1.0}}
    opened = open_model(tmp_path / "model")
    assert opened.about.labels == ("negative", "positive")
    assert opened.about.scores["sst2"] == {"accuracy": 1.0}
    assert opened.base is not None
    assert torch.equal(opened.bert.layers[0].qkv.weight, open_model(encoder).bert.layers[0].qkv.weight)
    assert json.loads((tmp_path / "model" / "outcome.json").read_text())["by_source"].keys() == {"sst2", "chnsenticorp"}


def test_each_source_gives_at_most_so_many_examples(
    encoder: Path, english: Path, chinese: Path, tmp_path: Path
) -> None:
    request = Request("classify", str(encoder), both(english, chinese), tmp_path / "model", most=10, changes=QUICK)
    run = FineTuningRun(request)
    assert len(run.training) == 20
    assert sum(example.text.isascii() for example in run.training) == 10


def test_named_dev_files_are_the_only_ones_measured_on(
    encoder: Path, english: Path, chinese: Path, tmp_path: Path
) -> None:
    dev = [Path(f"sst2={english / 'dev.tsv'}"), Path(f"chnsenticorp={chinese / 'train.tsv'}")]
    run, outcome = learned(encoder, both(english, chinese), tmp_path / "model", dev=dev)
    assert (len(run.training), outcome.dev_examples) == (16 + 24, 16 + 24)


def test_sources_are_told_apart() -> None:
    found = find_sources(asked("tag"), [Path("conll2003=a"), Path("one/eng.train"), Path("two/eng.train")])
    assert [source.name for source in found] == ["conll2003", "one/eng.train", "two/eng.train"]
    with pytest.raises(InputError, match="whose task is answer; wanted examples of classify"):
        find_sources(asked("classify"), [Path("squad1=here")])


def test_labels_that_have_nothing_in_common_are_refused_and_further_ones_told() -> None:
    sources = find_sources(asked("classify"), [Path("a.csv"), Path("b.csv")])
    texts = [Reading(tuple(TextExample("x", label=label) for label in labels)) for labels in ("01", "012", "np")]
    assert check_agreement([Part(sources[0], texts[0]), Part(sources[1], texts[1])]) == ["only b.csv has '2'"]
    with pytest.raises(InputError, match="--rename"):
        check_agreement([Part(sources[0], texts[0]), Part(sources[1], texts[2])])


def test_a_renaming_of_nothing_is_refused(encoder: Path, english: Path, tmp_path: Path) -> None:
    request = Request("sst2", str(encoder), english, tmp_path / "model", rename={"2": "neutral"}, changes=QUICK)
    with pytest.raises(InputError, match="rename of '2', which no example has; wanted one of '0', '1'"):
        FineTuningRun(request)


def test_documents_of_two_files_stay_apart() -> None:
    sources = find_sources(asked("tag"), [Path("a"), Path("b")])
    reading = Reading(tuple(TaggedExample("Ann", ((0, 3),), ("O",), document) for document in (0, 1, -1)))
    together = joined([Part(source, reading) for source in sources])
    assert [example.document for example in together.examples] == [0, 1, -1, 2, 3, -1]


def test_answers_of_both_languages_are_scored_each_by_its_own_rules() -> None:
    questions = [
        QuestionExample("Who?", "Ann Lee", (GivenAnswer("Ann Lee", 0),)),
        QuestionExample("谁？", "小王子", (GivenAnswer("小王子", 0),)),
    ]
    given = [Answered(text, 0, 1, 1.0, 0.0, (Span(text, 0, 1, 1.0),), 1.0) for text in ("the Ann", "王子")]
    scores = Answering().scores(questions, given)
    assert scores == pytest.approx({"exact_match": 0.0, "f1": (2 / 3 + 0.8) / 2})


def test_the_report_scores_answers_by_every_measure_that_the_task_has() -> None:
    assert report_answers.SCORERS.keys() == answering.SCORERS.keys()


def test_a_set_measured_by_the_f1_of_a_label_keeps_that_label(encoder: Path, tmp_path: Path) -> None:
    (tmp_path / "train.tsv").write_text("Quality\t#1 String\t#2 String\n0\tsoup\ttea\n1\ttea\ttea\n")
    names = {"0": "different", "1": "same"}
    with pytest.raises(InputError, match="measured by the F1 of its label 1"):
        FineTuningRun(Request("mrpc", str(encoder), tmp_path / "train.tsv", tmp_path / "model", rename=names))
