"""`unmask compress`: its fields, several texts to trim by, and what it refuses."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from unmask.cli import build
from unmask.compress.recipe import total_bytes
from unmask.compress.timing import Timed
from unmask.errors import InputError
from unmask.model.about import About
from unmask.model.bert import Bert
from unmask.model.config import BertConfig
from unmask.model.folder import open_model, save_model
from unmask.model.heads import BertWithHead, make_head
from unmask.text.learning import learn_vocabulary
from unmask.text.tokenizer import Tokenizer

TEXTS = ("the kettle sings in the kitchen", "a lantern hangs over the kitchen door", "nobody answers the door at night")


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A classifier of fresh weights, and a clock that goes by bytes."""
    tokenizer = Tokenizer(learn_vocabulary(["\n".join(TEXTS)], size=90))
    config = BertConfig(vocabulary_size=tokenizer.size, width=16, layers=2, heads=2, feed_forward=32, positions=32)
    classifier = BertWithHead(Bert(config), make_head("classes", config))
    save_model(tmp_path / "model", config, classifier, tokenizer, About(head="classes", labels=("no", "yes")))
    monkeypatch.setattr(
        "unmask.compress.report.time_folder", lambda folder, _: Timed(1.0, (0.001,), 1e9 / total_bytes(folder), "torch")
    )
    for number, text in enumerate(TEXTS):
        (tmp_path / f"{number}.txt").write_text(text)
    return tmp_path / "model"


def run(*words: object) -> dict[str, object]:
    found = CliRunner().invoke(build(), ["compress", *map(str, words), "--json", "--quiet"], catch_exceptions=False)
    return json.loads(found.stdout)  # type: ignore[no-any-return]


def test_compressing_says_what_was_gained_and_lost(model: Path, tmp_path: Path) -> None:
    fields = run(model, "-o", tmp_path / "small", "--layers", 1, "--trim-vocab", tmp_path / "0.txt", tmp_path / "1.txt")
    assert {"bytes_before", "bytes_after", "speedup", "score_before", "score_after"} <= fields.keys()
    assert fields["recipe"] == "trimmed, 1 layer"
    assert 1 < fields["speedup"] == pytest.approx(fields["bytes_before"] / fields["bytes_after"], rel=1e-2)  # type: ignore[operator]
    assert fields["score_after"] is None
    opened = open_model(tmp_path / "small")
    assert opened.config.layers == 1
    whole = open_model(model)
    for text in TEXTS[:2]:
        assert opened.tokenizer.encode(text).pieces == whole.tokenizer.encode(text).pieces
    assert opened.tokenizer.size < whole.tokenizer.size


def test_a_target_chooses_by_itself(model: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a target and --layers"):
        run(model, "-o", tmp_path / "small", "--layers", 1, "--target-size", "1MB")
    with pytest.raises(InputError, match="10MB"):
        run(model, "-o", tmp_path / "small", "--target-size", "small")
    fields = run(model, "-o", tmp_path / "small", "--target-size", "1MB")
    assert fields["recipe"] == "onnx"
    assert fields["bytes_after"] < 1_000_000  # type: ignore[operator]


def test_texts_belong_behind_their_flag(model: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="without --trim-vocab"):
        run(model, tmp_path / "0.txt", "-o", tmp_path / "small", "--int8")
