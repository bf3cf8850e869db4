"""The index of documents: what an update reads, keeps and drops; and that no crash can break it."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from unmask.apps.document_files import DocumentFile, Unread, read_document
from unmask.apps.document_index import Changes, Source, indexed, open_index
from unmask.apps.passages import passage_spans
from unmask.apps.spaces import TextSpace
from unmask.apps.vectors import TextVectors
from unmask.errors import InputError
from unmask.model.about import About
from unmask.model.bert import Bert
from unmask.model.config import BertConfig
from unmask.model.folder import save_model
from unmask.text.tokenizer import Tokenizer
from unmask.text.vocabulary import SPECIAL_PIECES

LONG = "\n\n".join(f"Chapter {number}. " + f"The keeper lit lamp {number}. " * 30 for number in range(4))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "notes"
    place.mkdir()
    (place / "long.txt").write_text(LONG)
    (place / "snow.md").write_text("# Snow\n\nSnow fell on the town.\n")
    (place / "rain.html").write_text("<p>It rained.</p>")
    return place


@pytest.fixture
def encoder(tmp_path: Path) -> Path:
    pieces = [*SPECIAL_PIECES, "snow", "fell", "rain", "keeper", "lamp", "."]
    config = BertConfig(vocabulary_size=len(pieces), width=8, layers=1, heads=2, feed_forward=8, positions=32)
    save_model(tmp_path / "encoder", config, Bert(config), Tokenizer(pieces), About("embedding"))
    return tmp_path / "encoder"


class Counting:
    """Counts the texts that are given vectors."""

    def __init__(self, encoder: TextVectors) -> None:
        self.encoder, self.texts = encoder, list[str]()
        self.name, self.width, self.identity, self.taught = encoder.name, encoder.width, encoder.identity, True
        self.folder = encoder.folder

    def __call__(self, texts: Sequence[str], **_: object) -> np.ndarray:
        self.texts += texts
        return np.asarray(self.encoder(texts))


def counting(encoder: Path) -> tuple[TextSpace, list[str]]:
    vectors = Counting(TextVectors(encoder))
    return TextSpace(vectors), vectors.texts  # type: ignore[arg-type]


def names(changes: Changes) -> tuple[list[str], list[str], list[str]]:
    return tuple([Path(name).name for name in some] for some in (changes.added, changes.changed, changes.removed))  # type: ignore[return-value]


def test_passages_are_slices_of_their_files(folder: Path) -> None:
    index, changes = indexed([Source.of(folder)])
    assert names(changes) == (["long.txt", "rain.html", "snow.md"], [], [])
    own = [p for p in index.passages if str(p.source).endswith("long.txt")]
    assert [(p.start, p.start + len(p.text)) for p in own] == passage_spans(LONG)
    assert all(LONG[p.start :].startswith(p.text) for p in own)


def test_an_index_opens_as_it_was_saved(folder: Path, encoder: Path, tmp_path: Path) -> None:
    index, _ = indexed([Source.of(folder)], TextSpace(TextVectors(encoder)))
    index.save(tmp_path / "index", reader="mine")
    opened, fields = open_index(tmp_path / "index")
    assert (opened.sources, opened.files, opened.passages) == (index.sources, index.files, index.passages)
    assert index.vectors is not None
    assert opened.vectors is not None
    np.testing.assert_array_equal(opened.vectors, index.vectors)
    assert (opened.lexical.scores("snow") == index.lexical.scores("snow")).all()
    assert (fields["app"], fields["reader"], fields["files"]) == ("documents", "mine", 3)


def test_an_update_embeds_only_what_is_new(folder: Path, encoder: Path) -> None:
    space, embedded = counting(encoder)
    before, _ = indexed([Source.of(folder)], space)
    (folder / "long.txt").write_text(LONG.replace("Chapter 3", "Chapter III"))
    (folder / "rain.html").unlink()
    (folder / "new.txt").write_text("Rain fell.")
    (folder / "snow.md").rename(folder / "winter.md")
    embedded.clear()
    after, changes = indexed([Source.of(folder)], space, before=before)
    assert names(changes) == (["new.txt", "winter.md"], ["long.txt"], ["rain.html", "snow.md"])
    assert len(embedded) == changes.embedded == 2
    assert embedded[1] == "Rain fell."
    assert "Chapter III" in embedded[0]
    assert after.vectors is not None
    np.testing.assert_allclose(after.vectors, TextVectors(encoder)([p.text for p in after.passages]), atol=1e-5)


def test_an_update_reads_only_files_that_changed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, _ = indexed([Source.of(folder)])
    (folder / "snow.md").write_text("More snow.")
    os.utime(folder / "long.txt")  # touched, but the same
    read = list[str]()

    def reading(file: DocumentFile) -> str | Unread:
        read.append(file.path.name)
        return read_document(file)

    monkeypatch.setattr("unmask.apps.document_index.read_document", reading)
    after, changes = indexed([Source.of(folder)], before=before)
    assert read == ["snow.md"]
    assert not changes.none
    assert indexed([Source.of(folder)], before=after)[1].none


def test_a_file_that_cannot_be_read_is_named_and_the_others_go_on(folder: Path) -> None:
    (folder / "torn.pdf").write_bytes(b"%PDF torn")
    (folder / "latin.txt").write_bytes(b"caf\xe9")
    index, changes = indexed([Source.of(folder)])
    assert [Path(file.name).name for file in changes.unread] == ["latin.txt", "torn.pdf"]
    assert len(index.files) == 3


def test_files_none_of_which_can_be_read_are_refused(tmp_path: Path) -> None:
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9")
    with pytest.raises(InputError, match=r"latin\.txt: byte 3 .* wanted at least one text"):
        indexed([Source.of(tmp_path)])


def test_files_are_called_as_they_were_written_wherever_the_update_runs(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder.parent)
    before, _ = indexed([Source.of(Path("notes")), Source.of(Path("notes/snow.md"))])
    monkeypatch.chdir("/")
    after, changes = indexed(before.sources, before=before)
    assert changes.none
    assert [file.name for file in after.files] == ["notes/long.txt", "notes/rain.html", "notes/snow.md"]


def test_a_named_file_may_go_but_a_folder_that_is_away_is_an_error(folder: Path) -> None:
    before, _ = indexed([Source.of(folder / "snow.md"), Source.of(folder / "long.txt")])
    (folder / "snow.md").unlink()
    assert names(indexed(before.sources, before=before)[1])[2] == ["snow.md"]
    (folder / "long.txt").unlink()
    with pytest.raises(InputError, match="all gone"):
        indexed(before.sources, before=before)
    whole, _ = indexed([Source.of(folder)])
    folder.rename(folder.with_name("moved"))
    with pytest.raises(InputError, match="no file or folder"):
        indexed(whole.sources, before=whole)


def test_an_index_of_another_encoder_is_refused_with_what_to_do(folder: Path, encoder: Path, tmp_path: Path) -> None:
    indexed([Source.of(folder)], TextSpace(TextVectors(encoder)))[0].save(tmp_path / "index")
    (encoder / "vocab.txt").write_text((encoder / "vocab.txt").read_text().replace("lamp", "torch"))
    with pytest.raises(InputError, match=r"whose vectors are of another version of the encoder .*again"):
        open_index(tmp_path / "index")


@pytest.mark.parametrize("name", ["files.jsonl", "passages.jsonl", "words.npz", "vectors.npy"])
def test_a_damaged_index_is_refused(folder: Path, encoder: Path, tmp_path: Path, name: str) -> None:
    indexed([Source.of(folder)], TextSpace(TextVectors(encoder)))[0].save(tmp_path / "index")
    content = (tmp_path / "index" / name).read_bytes()
    for damaged in (b"", content[: len(content) // 2]):
        (tmp_path / "index" / name).write_bytes(damaged)
        with pytest.raises(InputError, match="index"):
            open_index(tmp_path / "index")


KILLING = """
import json, os, signal, sys
from itertools import count
from pathlib import Path
from unmask.apps.document_index import Source, indexed, open_index

folder, place = Path(sys.argv[1]), Path(sys.argv[2])
TOUCHING = {"open", "os.rename", "os.mkdir", "os.rmdir", "os.remove", "os.scandir", "shutil.rmtree"}

def update(number):
    for name in "abc":
        (folder / f"{name}.txt").write_text(f"Number {number} of {name}. " * (5 + 40 * (number % 5)))
    before = open_index(place)[0] if place.exists() else None
    indexed([Source.of(folder)], before=before)[0].save(place)

def die_at(step):
    left = [step]
    def look(event, _):
        left[0] -= event in TOUCHING
        if left[0] == 0 and event in TOUCHING:
            os.kill(os.getpid(), signal.SIGKILL)
    sys.addaudithook(look)

update(0)
update(1)
for step in count(1):
    number = step + 1
    child = os.fork()
    if not child:
        die_at(step)
        update(number)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    index, fields = open_index(place)
    versions = sorted({passage.text.split()[1] for passage in index.passages})
    counts = [index.lexical.count, len(index.passages), fields["passages"]]
    print(json.dumps([os.WIFSIGNALED(status), number, versions, *counts]))
    if not status:
        break
"""


@pytest.mark.slow
def test_a_process_killed_at_any_step_of_an_update_leaves_the_old_index_or_the_new(tmp_path: Path) -> None:
    (tmp_path / "texts").mkdir()
    command = [sys.executable, "-c", KILLING, str(tmp_path / "texts"), str(tmp_path / "index")]
    one_thread = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}  # a fork copies no other
    run = subprocess.run(command, capture_output=True, text=True, env=one_thread, check=True)
    *killed, whole = map(json.loads, run.stdout.splitlines())
    last = 1
    for was_killed, number, versions, *counts in [*killed, whole]:
        assert was_killed == (number != whole[1])
        assert len(versions) == 1, "passages of two updates in one index"
        assert len(set(counts)) == 1
        assert int(versions[0]) in (last, number), "neither the old index nor the new"
        last = int(versions[0])
    assert last == whole[1], "the update that was not killed is there"
    assert {int(versions[0]) == number for _, number, versions, *_ in killed} == {True, False}
    assert len(killed) > 20
