"""Exported pretrained models fill masks and judge pairs as those in torch do, without loading torch."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from small_models import small_model
from typer.testing import CliRunner

import unmask
from unmask.apps.fill import Filler
from unmask.apps.following import Following
from unmask.cli import build
from unmask.compress.export import export
from unmask.errors import InputError
from unmask.model.folder import save_model
from unmask.runtime.folder import open_serving
from unmask.runtime.pretrained import ServedFollowing, ServedWords

TEXTS = ["the [MASK] was lazy.", "a quick brown [MASK] had [MASK] for the [MASK]", "[MASK]", "nobody [MASK] 北京"]


@pytest.mark.parametrize("head", ["pretraining", "masked_words"])
def test_masks_are_filled_as_in_torch(head: str, tmp_path: Path) -> None:
    opened = small_model(head)
    export(opened, tmp_path)
    theirs = Filler(opened.model, opened.tokenizer).many(TEXTS)
    for ours, expected in zip((unmask.load(tmp_path)).many(TEXTS), theirs, strict=True):
        assert (ours.text, ours.best) == (expected.text, expected.best)
        for one, other in zip(ours.masks, expected.masks, strict=True):
            assert [found.token for found in one.candidates] == [found.token for found in other.candidates]
            assert [c.probability for c in one.candidates] == pytest.approx(
                [c.probability for c in other.candidates], abs=1e-5
            )


@pytest.mark.parametrize("head", ["pretraining", "next_sentence"])
def test_pairs_are_judged_as_in_torch(head: str, tmp_path: Path) -> None:
    opened = small_model(head)
    export(opened, tmp_path)
    served = Following(open_serving(tmp_path), opened.tokenizer)
    for pair in (("the fox", "it was lazy"), ("nobody hoped " * 30, "the dog")):
        ours, expected = served(*pair), Following(opened.model, opened.tokenizer)(*pair)
        assert (ours.label, ours.cut) == (expected.label, expected.cut)
        assert ours.probability == pytest.approx(expected.probability, abs=1e-5)


def test_a_folder_without_the_head_is_refused(tmp_path: Path) -> None:
    export(small_model("classes"), tmp_path)
    opened = open_serving(tmp_path)
    for served in (ServedWords, ServedFollowing):
        with pytest.raises(InputError, match="serving folder with the head 'classes'"):
            served.of(opened)


def test_filling_with_an_exported_model_loads_no_torch(tmp_path: Path) -> None:
    export(small_model("pretraining"), tmp_path)
    code = f"import sys, unmask; unmask.load({str(tmp_path)!r})('the [MASK]'); assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_tagging_and_answering_are_the_same_applications(tmp_path: Path) -> None:
    for head, given in (("tokens", ("the fox was lazy .",)), ("span", ("what was lazy ?", "the fox was not lazy ."))):
        opened = small_model(head)
        save_model(tmp_path / head, opened.config, opened.model, opened.tokenizer, opened.about)
        whole, served = unmask.load(tmp_path / head), unmask.load(export(opened, tmp_path / f"served-{head}").folder)
        assert type(whole) is type(served)
        ours, theirs = served(*given).to_dict(), whole(*given).to_dict()
        assert [ours.get(name) for name in ("answer", "start", "end")] == [
            theirs.get(name) for name in ("answer", "start", "end")
        ]
        assert [found["type"] for found in ours.get("entities", [])] == [
            found["type"] for found in theirs.get("entities", [])
        ]


def test_the_verbs_answer_with_a_serving_folder(tmp_path: Path) -> None:
    export(small_model("pretraining"), tmp_path)
    for words in (["fill", "the [MASK]", "-m"], ["next", "the fox", "was lazy", "-m"]):
        found = CliRunner().invoke(build(), [*words, str(tmp_path), "--json"], catch_exceptions=False)
        assert {"masks", "label"} & json.loads(found.stdout).keys()
