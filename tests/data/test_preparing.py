"""Preparing a store: the same bytes however the work goes, what is noticed, duplicates, and bounded memory."""

import os
import random
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from stories import TOKENIZER, contents, files_of, sentences_of, write_stories

from unmask.data import assemble, shards, workers
from unmask.data.prepare import PrepareReport, prepare
from unmask.data.shards import plan_shards
from unmask.data.store import Store
from unmask.errors import InputError
from unmask.text.documents import read_documents
from unmask.text.tokenizer import Tokenizer
from unmask.text.vocabulary import SPECIAL_PIECES


class Stopped(Exception):
    """Work that ends in the middle."""


@pytest.fixture
def texts(tmp_path: Path) -> list[Path]:
    return write_stories(tmp_path / "texts")


def make(texts: list[Path], folder: Path, **settings: object) -> PrepareReport:
    return prepare(texts, folder, TOKENIZER, **{"shard_bytes": 500, "threads": 1, **settings})  # type: ignore[arg-type]


def test_the_report_counts_what_the_store_holds(texts: list[Path], tmp_path: Path) -> None:
    report = make(texts, tmp_path / "store")
    documents = [document.sentences for document in read_documents(texts)]
    sentences = [sentence for document in documents for sentence in document]
    store = Store.open(tmp_path / "store")
    assert (report.documents, report.sentences) == (len(documents), len(sentences))
    assert report.tokens == store.token_count
    assert report.duplicate_documents == len(documents) - len(set(documents))
    assert report.duplicate_sentences == len(sentences) - len(set(sentences))
    assert report.short_documents == sum(len(document) < 2 for document in documents)
    assert report.bytes == sum(path.stat().st_size for path in texts)


@pytest.mark.parametrize("drop_duplicates", [False, True])
def test_any_number_of_processes_makes_the_same_bytes(texts: list[Path], tmp_path: Path, drop_duplicates: bool) -> None:
    for threads in (1, 3):
        make(texts, tmp_path / str(threads), threads=threads, drop_duplicates=drop_duplicates)
    assert files_of(tmp_path / "1") == files_of(tmp_path / "3")


def test_workers_do_not_run_what_lies_in_the_current_folder(
    texts: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('not the one that was meant')")
    monkeypatch.chdir(tmp_path)
    assert make(texts, tmp_path / "store", threads=2).documents == 85


def test_the_shard_size_changes_the_shards_but_not_the_text(texts: list[Path], tmp_path: Path) -> None:
    make(texts, tmp_path / "many")
    make(texts, tmp_path / "one", shard_bytes=1 << 20)
    many, one = Store.open(tmp_path / "many"), Store.open(tmp_path / "one")
    assert len(many.shards) > len(one.shards) == 1
    assert contents(many) == contents(one)


def test_dropped_duplicates_are_those_that_occurred_before(texts: list[Path], tmp_path: Path) -> None:
    report = make(texts, tmp_path / "store", drop_duplicates=True)
    expected = sentences_of(texts, drop_duplicates=True)
    assert contents(Store.open(tmp_path / "store")) == expected
    assert report.documents == len(expected)
    assert report.duplicate_sentences > report.duplicate_documents > 0
    Store.open(tmp_path / "store").verify()


def test_small_files_share_a_shard_and_large_ones_are_cut(tmp_path: Path) -> None:
    files = write_stories(tmp_path)
    plans = plan_shards([*files, *files], shard_bytes=2000)
    assert [plan.number for plan in plans] == list(range(len(plans)))
    assert all(2000 <= plan.size < 2200 for plan in plans[:-1])
    assert any(len(plan.parts) > 1 for plan in plans)
    assert sum(plan.size for plan in plans) == 2 * sum(file.stat().st_size for file in files)


def test_sentences_without_pieces_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("The cat.\n\u200b\nA dog.\n\n\u200b\n\nThe mat.", encoding="utf-8")
    report = make([tmp_path / "a.txt"], tmp_path / "store")
    assert (report.documents, report.sentences) == (2, 3)
    assert contents(Store.open(tmp_path / "store")) == [
        TOKENIZER.ids_batch(["The cat.", "A dog."]),
        TOKENIZER.ids_batch(["The mat."]),
    ]


# Work that is interrupted, repeated, or given something else


@pytest.mark.parametrize("drop_duplicates", [False, True])
def test_interrupted_work_continues_to_the_same_bytes(
    texts: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, drop_duplicates: bool
) -> None:
    make(texts, tmp_path / "whole", drop_duplicates=drop_duplicates)
    done: list[int] = []

    def stop_at_the_fourth(plan: shards.ShardPlan) -> None:
        done.append(plan.number)
        if len(done) % 4 == 0:
            raise Stopped

    real = shards.ShardPreparer.prepare
    monkeypatch.setattr(
        shards.ShardPreparer, "prepare", lambda self, plan: stop_at_the_fourth(plan) or real(self, plan)
    )
    attempts = 0
    while True:
        try:
            make(texts, tmp_path / "broken", drop_duplicates=drop_duplicates)
            break
        except Stopped:
            attempts += 1
            with pytest.raises(InputError, match="no store"):
                Store.open(tmp_path / "broken")
    assert attempts > 2
    assert len(done) == len(set(done)) + attempts  # a complete shard is never prepared again
    assert files_of(tmp_path / "broken") == files_of(tmp_path / "whole")


@pytest.mark.parametrize("drop_duplicates", [False, True])
def test_an_interruption_while_shards_are_put_together(
    texts: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, drop_duplicates: bool
) -> None:
    make(texts, tmp_path / "whole", drop_duplicates=drop_duplicates)
    name = "_keep" if drop_duplicates else "_move"
    real, calls = getattr(assemble, name), []

    def stop_at_the_third(*arguments: object) -> object:
        calls.append(arguments)
        if len(calls) == 3:
            raise Stopped
        return real(*arguments)

    monkeypatch.setattr(assemble, name, stop_at_the_third)
    with pytest.raises(Stopped):
        make(texts, tmp_path / "broken", drop_duplicates=drop_duplicates)
    make(texts, tmp_path / "broken", drop_duplicates=drop_duplicates)
    assert files_of(tmp_path / "broken") == files_of(tmp_path / "whole")


@pytest.mark.slow
def test_a_process_killed_at_random_moments_continues_to_the_same_bytes(tmp_path: Path) -> None:
    texts = write_stories(tmp_path / "texts", documents=6000)
    script = tmp_path / "work.py"
    script.write_text(
        "import sys\nfrom pathlib import Path\nfrom stories import TOKENIZER\nfrom unmask.data.prepare import prepare\n"
        "prepare([Path(sys.argv[1])], Path(sys.argv[2]), TOKENIZER, shard_bytes=20_000, drop_duplicates=True)\n"
    )
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parent)}
    command = [sys.executable, str(script), str(tmp_path / "texts"), str(tmp_path / "killed")]
    chance = random.Random(0)
    for _ in range(4):
        process = subprocess.Popen(command, env=environment)
        time.sleep(chance.uniform(0.3, 2.5))
        process.send_signal(signal.SIGKILL)
        process.wait()
    subprocess.run(command, env=environment, check=True)
    prepare([tmp_path / "texts"], tmp_path / "whole", TOKENIZER, shard_bytes=20_000, drop_duplicates=True, threads=1)
    assert files_of(tmp_path / "killed") == files_of(tmp_path / "whole")
    assert len(texts) == 2


def test_the_same_again_redoes_nothing(texts: list[Path], tmp_path: Path) -> None:
    first = make(texts, tmp_path / "store")
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "store").iterdir()}
    again = make(texts, tmp_path / "store")
    assert (first.reused, again.reused) == (False, True)
    assert again.tokens == first.tokens
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "store").iterdir()} == before


def test_another_vocabulary_text_or_setting_is_noticed_and_named(texts: list[Path], tmp_path: Path) -> None:
    make(texts, tmp_path / "store")
    before = files_of(tmp_path / "store")
    with pytest.raises(InputError, match="another vocabulary"):
        prepare(texts, tmp_path / "store", Tokenizer(TOKENIZER.pieces, cased=True), shard_bytes=500)
    with pytest.raises(InputError, match="drop_duplicates False"):
        make(texts, tmp_path / "store", drop_duplicates=True)
    with pytest.raises(InputError, match="in another order"):
        make(texts[::-1], tmp_path / "store")
    with pytest.raises(InputError, match=r"other text \(b.jsonl\)"):
        make(texts[:1], tmp_path / "store")
    texts[0].write_text("The cat ran.")
    with pytest.raises(InputError, match=r"other text \(a.txt\)"):
        make(texts, tmp_path / "store")
    assert files_of(tmp_path / "store") == before


def test_unfinished_work_on_other_text_is_done_anew(texts: list[Path], tmp_path: Path) -> None:
    good = texts[1].read_text(encoding="utf-8")
    texts[1].write_text(good + "\n{broken", encoding="utf-8")
    with pytest.raises(InputError, match=r"b\.jsonl line"):
        make(texts, tmp_path / "store")
    texts[1].write_text(good, encoding="utf-8")
    make(texts, tmp_path / "store")
    assert contents(Store.open(tmp_path / "store")) == sentences_of(texts)


def test_a_bad_line_is_named_by_a_worker_too(texts: list[Path], tmp_path: Path) -> None:
    lines = texts[1].read_text(encoding="utf-8").splitlines()
    texts[1].write_text("\n".join([*lines, "{broken"]), encoding="utf-8")
    with pytest.raises(InputError, match=rf"b.jsonl line {len(lines) + 1}: .*; wanted one JSON object a line"):
        make(texts, tmp_path / "store", threads=2)


def test_a_worker_that_dies_is_an_error(texts: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers.sys, "executable", "/bin/false")
    with pytest.raises((RuntimeError, BrokenPipeError)):
        make(texts, tmp_path / "store", threads=2)


def test_an_empty_corpus_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("\n \n\u200b\n", encoding="utf-8")
    with pytest.raises(InputError, match="no text in"):
        make([tmp_path / "a.txt"], tmp_path / "store")
    assert not (tmp_path / "store").exists()


def test_a_folder_with_something_else_is_left_alone(texts: list[Path], tmp_path: Path) -> None:
    before = files_of(tmp_path / "texts")
    with pytest.raises(InputError, match="holds something else"):
        make(texts, tmp_path / "texts")
    assert files_of(tmp_path / "texts") == before


def test_a_store_inside_the_folder_of_texts_is_not_text(texts: list[Path], tmp_path: Path) -> None:
    make([tmp_path / "texts"], tmp_path / "texts" / "store")
    assert make([tmp_path / "texts"], tmp_path / "texts" / "store").reused
    assert contents(Store.open(tmp_path / "texts" / "store")) == sentences_of(texts)


def test_what_cannot_be_read_twice_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.txt")
    with pytest.raises(InputError, match=r"pipe\.txt, a pipe"):
        make([tmp_path / "pipe.txt"], tmp_path / "store")


@pytest.mark.slow
def test_memory_does_not_follow_the_corpus(tmp_path: Path) -> None:
    line = "the quick brown fox number {} jumps over a lazy dog and goes on to the river where it sleeps.\n"
    with (tmp_path / "large.txt").open("w") as file:  # one document without a blank line, 15 MB
        for start in range(0, 160_000, 10_000):
            file.write("".join(line.format(number) for number in range(start, start + 10_000)))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    report = prepare([tmp_path / "large.txt"], tmp_path / "store", Tokenizer([*SPECIAL_PIECES, "the"]), threads=1)
    assert report.sentences == 160_000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000  # kilobytes
