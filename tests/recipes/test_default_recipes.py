"""The recipes of the default model and its heads: what they ask for exists, and one of them is run on made data."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

from unmask.cli import build
from unmask.model.about import About
from unmask.model.bert import Bert
from unmask.model.config import BertConfig
from unmask.model.folder import open_model, save_model
from unmask.model.heads import BertWithHead, make_head
from unmask.text.tokenizer import Tokenizer
from unmask.text.vocabulary import SPECIAL_PIECES

RECIPES = Path(__file__).resolve().parents[2] / "recipes"
SCRIPTS = sorted(path.name for path in RECIPES.glob("default*.sh"))
WORDS = ("good", "bad", "the", "soup", "was", "好", "坏", "汤")


def commands(script: Path) -> list[str]:
    """What a script asks of the command, each on one line."""
    lines = script.read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
    return [line.split('"$unmask" ')[1] for line in lines if '"$unmask" ' in line]


@pytest.mark.parametrize("script", SCRIPTS)
def test_every_verb_and_flag_of_a_recipe_exists(script: str) -> None:
    asked = commands(RECIPES / script)
    assert asked
    for line in asked:
        command = get_command(build())
        for word in line.split():
            if word in getattr(command, "commands", {}):
                command = command.commands[word]  # type: ignore[attr-defined]
        known = {flag for option in command.params for flag in option.opts}
        assert set(re.findall(r"(?<=\s)--?[a-z][a-z0-9-]*", line)) <= known, line


@pytest.mark.slow
def test_the_sentiment_recipe_makes_a_small_folder_that_answers_in_both_languages(tmp_path: Path) -> None:
    config = BertConfig(vocabulary_size=len(WORDS) + 5, width=32, layers=3, heads=2, feed_forward=64, positions=256)
    model = BertWithHead(Bert(config), make_head("pretraining", config))
    save_model(tmp_path / "default", config, model, Tokenizer([*SPECIAL_PIECES, *WORDS]), About("pretraining"))
    for name, header, good, bad in (
        ("glue/SST-2", "sentence\tlabel", "the soup was good\t1", "the soup was bad\t0"),
        ("chnsenticorp", "label\ttext_a", "1\t汤好", "0\t汤坏"),
    ):
        (tmp_path / name).mkdir(parents=True)
        for part in ("train", "dev"):
            (tmp_path / name / f"{part}.tsv").write_text("\n".join([header, *[good, bad] * 16]) + "\n")
    own = {"UNMASK": str(Path(sys.executable).with_name("unmask")), "EMBEDDED": str(tmp_path / "embedded")}
    chosen = {"MODEL": str(tmp_path / "default"), "EPOCHS": "15", "LR": "3e-3"}
    subprocess.run(
        [RECIPES / "default-sentiment.sh", tmp_path, tmp_path / "work"],
        env={**os.environ, **own, **chosen, "OMP_NUM_THREADS": "1"},
        check=True,
        capture_output=True,
    )
    opened = open_model(tmp_path / "embedded" / "sentiment")
    assert opened.about.labels == ("negative", "positive")
    assert opened.about.scores["chnsenticorp"] == {"accuracy": 1.0}
    assert opened.base is not None
    assert "ChnSentiCorp" in (tmp_path / "embedded" / "sentiment" / "README.md").read_text()
    subprocess.run(["sha256sum", "--quiet", "-c", "checksums.txt"], cwd=tmp_path / "embedded" / "sentiment", check=True)
