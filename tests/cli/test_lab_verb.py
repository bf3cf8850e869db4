"""The verb `lab`: its JSON and its table, and what it refuses in one line."""

from pathlib import Path

import pytest
from command import Command

TEXT = "\n\n".join(f"The cat number {n} sat.\nThe dog ran to the hill.\nThe cat slept." for n in range(20))
ROWS = "text,label\n" + "".join(f"the cat {word},{word == 'sat'}\n" for word in ("sat", "ran", "sat", "slept") * 3)


@pytest.fixture(autouse=True)
def small_models(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unmask.model.config.SIZES", {"tiny": (1, 32, 2), "mini": (1, 32, 2)})


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "text.txt").write_text(TEXT)
    (tmp_path / "train.csv").write_text(ROWS)
    (tmp_path / "one.csv").write_text("text,label\nthe cat,yes\nthe dog,yes\n")
    return tmp_path


QUICK = ("--vocab-size", 70, "--length", 32, "--batch-tokens", 128)


def test_it_answers_with_rows_and_a_second_time_from_the_folder(unmask: Command, files: Path) -> None:
    words = ("lab", "objectives", files / "text.txt", "--steps", 2, *QUICK, "-o", files / "out", "--quiet")
    fields = unmask.json(*words)
    assert fields["experiment"] == "objectives"
    assert set(fields["columns"]) <= set(fields["rows"][0])
    assert [row["name"] for row in fields["rows"]] == ["BERT", "no next sentence", "left to right"]
    status, out, err = unmask(*words)
    assert (status, err) == (0, "")
    assert out.splitlines()[0].split()[:2] == ["masked-word", "loss"]
    assert out.splitlines()[1].startswith("BERT ")
    assert unmask.json(*words) == fields


WRONG = {
    "an experiment that there is not": (("objective", "text.txt"), "wanted objectives, sizes, features"),
    "no text": (("masking",), "masking without text"),
    "text that is not there": (("masking", "nowhere.txt"), "no file"),
    "one class": (("objectives", "text.txt", "--train", "one.csv"), "the one label 'yes'"),
    "too little time": (("masking", "text.txt", "--budget", "20s"), "6 pretrainings, 3.3 s each"),
    "features without examples": (("features",), "--train"),
    "features of text": (("features", "text.txt", "--train", "train.csv"), "pretrains nothing"),
    "ancestors by nothing": (("ancestors", "text.txt"), "nothing to compare"),
    "a model for what pretrains": (("sizes", "text.txt", "-m", "default"), "pretrains its own"),
    "a size that there is not": (("sizes", "text.txt", "--sizes", "tiny,huge"), "size 'huge'"),
    "both a budget and steps": (("sizes", "text.txt", "--budget", "10m", "--steps", "9"), "one of them"),
    "dev without train": (("sizes", "text.txt", "--dev", "train.csv"), "--dev without --train"),
    "a task that there is not": (("sizes", "text.txt", "--train", "train.csv", "--task", "sing"), "task 'sing'"),
}


@pytest.mark.parametrize(("words", "said"), WRONG.values(), ids=WRONG)
def test_what_it_cannot_do_is_one_line_and_status_2(
    unmask: Command, files: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], said: str
) -> None:
    monkeypatch.chdir(files)
    status, out, err = unmask("lab", *words, "-o", "out", "--quiet")
    assert (status, out) == (2, "")
    assert err.startswith("unmask: got ")
    assert said in err
    assert err.count("\n") == 1
    assert not (files / "out").exists()


def test_without_gensim_the_ancestors_say_which_extra(
    unmask: Command, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("unmask.lab.ancestors.find_spec", lambda _: None)
    status, _, err = unmask("lab", "ancestors", files / "text.txt", "--train", files / "train.csv", "-o", files / "out")
    assert (status, err) == (2, "unmask: gensim is not installed; pip install 'unmask[lab]'\n")


def test_its_help_names_its_flags(unmask: Command) -> None:
    status, out, _ = unmask("lab", "--help")
    assert status == 0
    assert "--similarity" in out
