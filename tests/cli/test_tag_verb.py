"""The verb tag, as the command runs it."""

from pathlib import Path

import pytest
from command import Command

from unmask.model.about import About
from unmask.model.bert import Bert
from unmask.model.config import BertConfig
from unmask.model.folder import save_model
from unmask.model.heads import BertWithHead, make_head
from unmask.text.tokenizer import Tokenizer
from unmask.text.vocabulary import SPECIAL_PIECES

PIECES = [*SPECIAL_PIECES, "ann", "bob", "sang", "went", "to", "rome", ".", "山"]
CONFIG = BertConfig(
    vocabulary_size=len(PIECES), width=32, layers=1, heads=4, feed_forward=64, positions=24, initial_deviation=0.3
)
ABOUT = About("tags_crf", labels=("O", "B-PER", "I-PER"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("models") / "tagger"
    model = BertWithHead(Bert(CONFIG), make_head("tags_crf", CONFIG, outputs=3))
    save_model(folder, CONFIG, model, Tokenizer(PIECES), ABOUT)
    return str(folder)


TEXT = "Ann went to Rome. Bob sang 山."


def test_tag_gives_the_entities_of_one_text(unmask: Command, folder: str) -> None:
    fields = unmask.json("tag", TEXT, "-m", folder)
    assert list(fields) == ["entities"]
    for entity in fields["entities"]:
        assert list(entity) == ["type", "start", "end", "text", "score"]
        assert TEXT[entity["start"] : entity["end"]] == entity["text"]
        assert 0 < entity["score"] <= 1


def test_tag_gives_a_list_for_several_texts_and_for_a_file(unmask: Command, folder: str, tmp_path: Path) -> None:
    lines = tmp_path / "texts.txt"
    lines.write_text(f"{TEXT}\n\n", encoding="utf-8")
    alone = unmask.json("tag", TEXT, "-m", folder)
    assert unmask.json("tag", TEXT, "", "-m", folder) == {"texts": [alone, {"entities": []}]}
    assert unmask.json("tag", "--input", str(lines), "-m", folder) == {"texts": [alone, {"entities": []}]}


def test_tag_in_words_shows_every_entity(unmask: Command, folder: str) -> None:
    status, out, _ = unmask("tag", TEXT, "Bob", "-m", folder)
    assert status == 0
    assert out.startswith(f"{TEXT}\n")
    found = unmask.json("tag", TEXT, "-m", folder)["entities"]
    assert all(entity["text"] in out for entity in found)


def test_tag_without_a_text_is_the_users_fault(unmask: Command, folder: str) -> None:
    status, _, err = unmask("tag", "-m", folder)
    assert (status, err) == (
        2,
        "unmask: got no text; wanted at least one; give texts, or a file of them with --input\n",
    )


def test_tag_names_a_text_that_is_not_utf8_and_tags_the_others(unmask: Command, folder: str) -> None:
    status, _, err = unmask("tag", "half \udcff", "-m", folder)
    assert status == 2
    assert "half a character" in err
    told = unmask.json("tag", TEXT, "half \udcff", "-m", folder)["texts"]
    assert "entities" in told[0]
    assert "half a character" in told[1]["error"]
