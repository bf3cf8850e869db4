"""The verbs of FAQ and search: one JSON object each, one clear line for bad input."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from small_models import small_model
from typer.testing import CliRunner

from unmask.cli import build
from unmask.errors import InputError
from unmask.model.folder import save_model

HEAD = "question,answer,paraphrases\n"
ROWS = f"{HEAD}the fox ?,quick,see the fox|a fox\nthe dog ?,lazy,\nnobody ?,them,\nthe fox ?,brown,\n"
WORDS = ("fox", "dog", "quick", "lazy", "brown", "by", "in", "it")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    opened = small_model("embedding")
    save_model(tmp_path / "model", opened.config, opened.model, opened.tokenizer, opened.about)
    (tmp_path / "faq.csv").write_text(ROWS)
    (tmp_path / "texts.txt").write_text("the quick fox\nthe quick fox\na lazy dog\nnobody had hoped\n")
    return tmp_path


def told(*words: object) -> dict[str, object]:
    run = CliRunner().invoke(build(), [*map(str, words), "--json"], catch_exceptions=False)
    assert run.exit_code == 0, run.output
    found: dict[str, object] = json.loads(run.stdout)
    return found


def test_an_faq_is_built_asked_and_measured(place: Path) -> None:
    made = told("faq", "build", place / "faq.csv", "-o", place / "faq", "-m", place / "model")
    assert (made["entries"], made["phrasings"], made["conflicts"]) == (4, 6, 1)
    one = told("faq", place / "faq", "the dog ?")
    assert one == told("faq", "ask", place / "faq", "the dog ?")
    assert one["candidates"][0]["answer"] == "lazy"
    many = told("faq", place / "faq", "the dog ?", " ", "--top", 1)["answers"]
    assert [len(answer.get("candidates", "")) for answer in many] == [1, 0]
    measured = told("faq", "evaluate", place / "faq", "--data", place / "faq.csv")
    assert measured["questions"] == 6
    assert 0 <= measured["p_at_1"] <= measured["mrr"] <= 1


def test_an_faq_is_tuned_from_a_folder_or_a_file(place: Path) -> None:
    rows = [f"the {word} ?,{word},see the {word}|{word} weather\n" for word in WORDS]
    (place / "many.csv").write_text(HEAD + "".join(rows))
    told("faq", "build", place / "many.csv", "-o", place / "faq", "-m", place / "model")
    tuned = told("faq", "tune", place / "faq", "-o", place / "tuned", "--steps", 2)
    assert tuned["steps"] == 2
    assert tuned["before"]["questions"] == tuned["after"]["questions"] == 3
    assert told("faq", place / "tuned", "see the dog")["candidates"]
    with pytest.raises(InputError, match="as the FAQ and as -o; wanted two folders"):
        told("faq", "tune", place / "faq", "-o", place / "faq")
    with pytest.raises(InputError, match="wanted the folder of an FAQ"):
        told("faq", "tune", place / "model", "-o", place / "other")


def test_texts_are_searched_paired_and_grouped(place: Path) -> None:
    model = ("-m", place / "model")
    hits = told("search", "a lazy dog", "--in", place / "texts.txt", "-o", place / "index", "--top", 2, *model)
    assert hits["hits"][0]["text"] == "a lazy dog"
    assert told("search", "a lazy dog", "--in", place / "index", "--top", 2) == hits
    assert [len(found["hits"]) for found in told("search", "fox", "dog", "--in", place / "index")["queries"]] == [4, 4]
    assert told("search", "--in", place / "texts.txt", "-o", place / "index", *model)["texts"] == 4
    pairs = told("similar", place / "texts.txt", "--threshold", 0.999, *model)
    assert (pairs["count"], pairs["pairs"][0]["second"]["text"]) == (1, "the quick fox")
    groups = told("cluster", place / "texts.txt", "--k", 3, *model)
    assert (groups["count"], groups["clusters"][0]["size"]) == (3, 2)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("faq ask {0}/nowhere why", "wanted a folder of the application 'faq'"),
        ("faq ask {0}/model why", "wanted a folder of the application 'faq'"),
        ("faq build {0}/nowhere.csv -o {0}/x", "nowhere.csv"),
        ("faq build {0}/texts.txt -o {0}/x", "wanted a column 'question'"),
        ("search --in {0}/texts.txt", "got no query"),
        ("search fox --in {0}/model", "wanted a folder of the application 'search'"),
        ("cluster {0}/faq.csv", "wanted a column 'text'; name the one with the texts: --column NAME"),
    ],
)
def test_bad_input_is_one_clear_line(place: Path, words: str, says: str) -> None:
    with pytest.raises(InputError) as caught:
        told(*words.format(place).split())
    assert says in str(caught.value)


def test_bad_input_is_status_two(place: Path) -> None:
    command = [sys.executable, "-m", "unmask", "faq", str(place / "nowhere"), "why"]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 2
    assert run.stderr.count("\n") == 1
