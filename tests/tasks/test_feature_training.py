"""Feature-based use through the one loop: only the head learns, from cached features; folders answer the same."""

import re
from pathlib import Path

import pytest
import torch
from scoring import score

from unmask.data.examples import TaggedExample
from unmask.errors import InputError
from unmask.model.about import About
from unmask.model.bert import Bert
from unmask.model.config import BertConfig
from unmask.model.folder import open_model, save_model
from unmask.model.heads import BertWithHead
from unmask.model.outputs import outputs_of
from unmask.model.starting_point import with_fresh_head
from unmask.tasks.finetuning import FineTuning, FineTuningSettings
from unmask.tasks.finetuning_run import FineTuningRun, Request
from unmask.tasks.kinds import task_of
from unmask.tasks.tagging import Tagging
from unmask.text.tokenizer import Tokenizer
from unmask.text.vocabulary import SPECIAL_PIECES

NAMES, WORDS = ("ann", "bob", "kim", "lee"), ("sang", "ran", "slept", "read")
TOKENIZER = Tokenizer([*SPECIAL_PIECES, *NAMES, *WORDS, "and"])
CONFIG = BertConfig(vocabulary_size=TOKENIZER.size, width=32, layers=2, heads=2, feed_forward=64, positions=32)
SENTENCES = [f"{NAMES[i]} and {NAMES[(i + j) % 4]} {WORDS[j]}" for i in range(4) for j in range(1, 4)]


def tagged(text: str) -> TaggedExample:
    words = tuple(word.span() for word in re.finditer(r"\w+", text))
    return TaggedExample(text, words, ("B-PER", "O", "B-PER", "O"))


EXAMPLES = [tagged(text) for text in SENTENCES]
SETTINGS = FineTuningSettings(epochs=12, batch_size=4, learning_rate=1e-2, features="concat-last-4", evaluations=0.25)


@pytest.fixture
def encoder(tmp_path: Path) -> Path:
    save_model(tmp_path / "encoder", CONFIG, Bert(CONFIG), TOKENIZER, About())
    return tmp_path / "encoder"


def tuning(encoder: Path, folder: Path, told: list[int] | None = None) -> FineTuning:
    task = Tagging.learned_from(EXAMPLES, longest=16)
    _, model = with_fresh_head(open_model(encoder), task.head, outputs=task.outputs, features=SETTINGS.read)
    made = FineTuning(
        folder,
        task,
        model,
        TOKENIZER,
        EXAMPLES,
        EXAMPLES,
        SETTINGS,
        report=lambda done, _: told.append(done) if told is not None else None,
    )
    made.resume()
    return made


def test_a_tagger_on_features_learns_by_heart_while_its_encoder_stays(encoder: Path, tmp_path: Path) -> None:
    made = tuning(encoder, tmp_path / "run")
    before = {name: value.clone() for name, value in made.model.bert.state_dict().items()}
    assert len(list(made.train())) == made.steps
    assert score(made.task, made.model, EXAMPLES, made.dev_rows)[made.task.metric] == 1.0
    assert all(torch.equal(value, before[name]) for name, value in made.model.bert.state_dict().items())
    assert not list((tmp_path / "run").glob("features.*")), "the cache is removed at the end"


def test_an_interrupted_training_resumes_exactly_from_its_cache(encoder: Path, tmp_path: Path) -> None:
    whole, told = tuning(encoder, tmp_path / "whole"), list[int]()
    assert len(list(whole.train())) == whole.steps
    with pytest.raises(KeyboardInterrupt):
        list(tuning(encoder, tmp_path / "again", told).train(stop=lambda: True))
    again = tuning(encoder, tmp_path / "again", told)
    assert len(list(again.train())) == whole.steps - 1
    assert len(told) == 1, "the second sitting found the features of the first"
    for name, value in whole.model.head.state_dict().items():
        assert torch.equal(value, again.model.head.state_dict()[name]), name


def test_a_run_from_files_gives_a_folder_that_answers_the_same(encoder: Path, tmp_path: Path) -> None:
    table = tmp_path / "texts.csv"
    table.write_text("text,label\n" + "".join(f"{text},{'ran' in text}\n" for text in SENTENCES))
    changes = {"features": "weighted-all", "reader": "linear", "epochs": 3, "learning_rate": 1e-2}
    run = FineTuningRun(Request("classify", str(encoder), table, tmp_path / "out", dev=table, changes=changes))
    outcome = run.train()
    opened = open_model(tmp_path / "out")
    assert opened.about.features == {"layers": "weighted-all", "reader": "linear"}
    assert isinstance(opened.model, BertWithHead)
    task = task_of(opened.about, opened.config.positions)
    rows = task.rows(run.dev, opened.tokenizer)
    answers = task.answers(run.dev, rows, outputs_of(opened.model, rows))
    assert [answer.to_dict() for answer in answers] == [
        answer.to_dict() for answer in task.answers(run.dev, rows, outputs_of(run.model, rows))
    ]
    assert task.scores(run.dev, answers)["accuracy"] == outcome.score


def test_a_thawed_encoder_learns_together_with_its_reader(encoder: Path, tmp_path: Path) -> None:
    table = tmp_path / "texts.csv"
    table.write_text("text,label\n" + "".join(f"{text},{'ran' in text}\n" for text in SENTENCES))
    changes = {"features": "last", "thawed": True, "epochs": 1}
    run = FineTuningRun(Request("classify", str(encoder), table, tmp_path / "out", dev=table, changes=changes))
    run.train()
    before, after = open_model(encoder).bert.state_dict(), open_model(tmp_path / "out").bert.state_dict()
    assert not torch.equal(before["layers.0.up.weight"], after["layers.0.up.weight"])
    assert run.settings.learning_rate > 5e-5, "the rate of fine-tuning, by width"


def test_adversaries_of_features_are_refused(encoder: Path, tmp_path: Path) -> None:
    table = tmp_path / "texts.csv"
    table.write_text("text,label\nann sang,yes\nbob ran,no\n")
    changes = {"features": "last", "adversarial": 1.0}
    with pytest.raises(InputError, match="adversarial training of features"):
        FineTuningRun(Request("classify", str(encoder), table, tmp_path / "out", dev=table, changes=changes))
