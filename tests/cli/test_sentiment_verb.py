"""The verbs classify and sentiment, as the command runs them."""

from pathlib import Path
from typing import Any

import pytest
from command import Command

from unmask.model.about import About
from unmask.model.bert import Bert
from unmask.model.config import BertConfig
from unmask.model.folder import save_model
from unmask.model.heads import BertWithHead, make_head
from unmask.text.tokenizer import Tokenizer
from unmask.text.vocabulary import SPECIAL_PIECES

PIECES = [*SPECIAL_PIECES, "good", "bad", "lamp", "."]
CONFIG = BertConfig(vocabulary_size=len(PIECES), width=8, layers=1, heads=2, feed_forward=8, positions=16)


def folder(place: Path, *labels: str) -> str:
    model = BertWithHead(Bert(CONFIG), make_head("classes", CONFIG, outputs=len(labels)))
    save_model(place, CONFIG, model, Tokenizer(PIECES), About("classes", labels=labels))
    return str(place)


def test_one_text_is_one_object_and_a_file_is_a_list(unmask: Command, tmp_path: Path) -> None:
    def told(*arguments: str) -> dict[str, Any]:
        return unmask.json(*arguments, "-m", model)

    model = folder(tmp_path / "model", "neg", "pos")
    (tmp_path / "texts.csv").write_text("text\nA good lamp.\nBad.\n")
    one = told("sentiment", "A good lamp.", "--words")
    assert set(one) == {"label", "confidence", "abstained", "probabilities", "words"}
    assert len(told("sentiment", "--input", str(tmp_path / "texts.csv"))["texts"]) == 2
    assert told("sentiment", "Bad.", "--abstain-below", "1")["abstained"]
    assert told("classify", "Bad.")["label"] in ("neg", "pos")
    assert told("classify", "A good lamp.", "--words")["words"][0]["text"] in ("A", "good", "lamp")


def test_in_words_each_text_has_a_line(unmask: Command, tmp_path: Path) -> None:
    model = folder(tmp_path / "model", "negative", "positive")
    status, out, _ = unmask("sentiment", "A good lamp.", "Bad.", "-m", model, "--abstain-below", "1")
    first, second = out.splitlines()
    assert status == 0
    assert first.startswith("(unsure)")
    assert first.endswith("A good lamp.")
    assert second.endswith("Bad.")


@pytest.mark.parametrize(
    ("labels", "arguments", "said"),
    [
        (("sports", "news"), ["sentiment", "Good."], "labels sports, news; wanted positive and negative"),
        (("negative", "positive"), ["sentiment"], "no text"),
        (("negative", "positive"), ["sentiment", " "], "an empty text; wanted a text in words"),
        (("negative", "positive"), ["classify", ""], "an empty text; wanted a text in words"),
        (("negative", "positive"), ["sentiment", "--input", "away.csv"], "away.csv"),
    ],
)
def test_bad_input_is_one_line(
    unmask: Command,
    tmp_path: Path,
    labels: tuple[str, ...],
    arguments: list[str],
    said: str,
) -> None:
    status, _, err = unmask(*arguments, "-m", folder(tmp_path / "model", *labels), "--quiet")
    assert (status, len(err.splitlines())) == (2, 1)
    assert said in err
