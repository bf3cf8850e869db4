"""The verbs fill, next, features, score and evaluate, as the command runs them."""

import json
from pathlib import Path

import numpy as np
import pytest
from command import Command

from unmask.model.about import About
from unmask.model.bert import Bert
from unmask.model.config import BertConfig
from unmask.model.folder import save_model
from unmask.model.heads import BertWithHead, make_head
from unmask.text.tokenizer import Tokenizer
from unmask.text.vocabulary import SPECIAL_PIECES

WORDS = "the cat dog cats dogs sat sits . white is snow a b c"
PIECES = [*SPECIAL_PIECES, *WORDS.split()]
CONFIG = BertConfig(vocabulary_size=len(PIECES), width=32, layers=2, heads=4, feed_forward=64, positions=24)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("models") / "small"
    model = BertWithHead(Bert(CONFIG), make_head("pretraining", CONFIG))
    save_model(folder, CONFIG, model, Tokenizer(PIECES), About("pretraining"))
    return str(folder)


def test_fill_gives_one_object_for_one_text(unmask: Command, folder: str) -> None:
    fields = unmask.json("fill", "The [MASK] sat.", "-m", folder, "--top", "3")
    assert list(fields) == ["text", "masks"]
    assert [len(mask["candidates"]) for mask in fields["masks"]] == [3]


def test_fill_gives_a_list_for_several_texts(unmask: Command, folder: str) -> None:
    fields = unmask.json("fill", "The [MASK] sat.", "a [MASK] [MASK]", "-m", folder)
    assert [len(text["masks"]) for text in fields["texts"]] == [1, 2]


def test_fill_in_words_shows_the_text_filled(unmask: Command, folder: str) -> None:
    status, out, _ = unmask("fill", "The [MASK] sat.", "-m", folder)
    best = unmask.json("fill", "The [MASK] sat.", "-m", folder)["masks"][0]["candidates"][0]["token"]
    assert (status, out.splitlines()[0]) == (0, f"The {best.removeprefix('##')} sat.")


def test_a_text_without_a_mask_is_the_users_fault(unmask: Command, folder: str) -> None:
    status, out, err = unmask("fill", "The cat sat.", "-m", folder)
    assert (status, out) == (2, "")
    assert err == (
        "unmask: got a text without [MASK]; wanted [MASK] at each place to fill; "
        'write for instance "The sky is [MASK]."\n'
    )


def test_what_was_cut_is_said(unmask: Command, folder: str) -> None:
    status, _, err = unmask("fill", "[MASK]" + " cat" * 30 + " dog", "-m", folder)
    assert status == 0
    assert "the last 40 of 130 characters were not read, from 'cat cat" in err


def test_next_names_its_label(unmask: Command, folder: str) -> None:
    fields = unmask.json("next", "The cat sat.", "The dog sits.", "-m", folder)
    assert list(fields) == ["label", "probability"]
    assert fields["label"] == ("next" if fields["probability"] >= 0.5 else "not_next")
    assert unmask("next", "The cat sat.", "The dog sits.", "-m", folder)[1].startswith(fields["label"])


def test_features_go_to_files_as_they_are_printed(unmask: Command, folder: str, tmp_path: Path) -> None:
    (tmp_path / "texts.txt").write_text("the cat\nsnow is white\n")
    options = ("--input", str(tmp_path / "texts.txt"), "--layers", "-1,-2", "-m", folder)
    vectors = unmask.json("features", *options)["vectors"]
    written = unmask.json("features", *options, "-o", str(tmp_path / "vectors.npy"))
    assert written == {"layers": [-1, -2], "pooling": "mean", "width": 64, "texts": 2, "file": written["file"]}
    np.testing.assert_allclose(np.load(tmp_path / "vectors.npy"), vectors, rtol=1e-6)
    unmask.json("features", *options, "-o", str(tmp_path / "vectors.jsonl"))
    rows = [json.loads(line) for line in (tmp_path / "vectors.jsonl").read_text().splitlines()]
    assert [row["text"] for row in rows] == ["the cat", "snow is white"]
    np.testing.assert_allclose([row["vector"] for row in rows], vectors, rtol=1e-6)


def test_features_of_tokens_have_offsets(unmask: Command, folder: str, tmp_path: Path) -> None:
    fields = unmask.json("features", "The cats", "--tokens", "-m", folder)
    assert (fields["pieces"], fields["offsets"]) == (
        [["[CLS]", "the", "cats", "[SEP]"]],
        [[[0, 0], [0, 3], [4, 8], [0, 0]]],
    )
    unmask.json("features", "The cats", "--tokens", "-m", folder, "-o", str(tmp_path / "pieces.jsonl"))
    row = json.loads((tmp_path / "pieces.jsonl").read_text())
    np.testing.assert_allclose(row["vectors"], fields["vectors"][0], rtol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--layers", "last", "the cat"), "--layers last; wanted whole numbers"),
        (("--layers", "9", "the cat"), "layer 9; wanted 0"),
        ((), "no text; wanted at least one"),
        (("the cat", "-o", "vectors.csv"), "output vectors.csv; wanted a .npy or .jsonl"),
        (("the cat", "--tokens", "-o", "vectors.npy"), "output vectors.npy; wanted a .jsonl"),
        (("--input", "absent.txt"), "no file absent.txt"),
    ],
)
def test_features_refuse_what_they_cannot_do(
    unmask: Command, folder: str, arguments: tuple[str, ...], message: str
) -> None:
    status, _, err = unmask("features", *arguments, "-m", folder)
    assert status == 2
    assert f"unmask: got {message}" in err


def test_score_gives_every_word(unmask: Command, folder: str) -> None:
    fields = unmask.json("score", "The cat sat.", "snow", "-m", folder)
    first, second = fields["texts"]
    assert [(word["start"], word["end"]) for word in first["words"]] == [(0, 3), (4, 7), (8, 11), (11, 12)]
    assert first["log_probability"] == pytest.approx(sum(word["log_probability"] for word in first["words"]))
    assert second["text"] == "snow"
    assert "cat" in unmask("score", "The cat sat.", "-m", folder)[1]


def test_evaluate_judges_minimal_pairs_and_draws(unmask: Command, folder: str, tmp_path: Path) -> None:
    rows = [
        {"good": "the cat sits.", "bad": "the cats sits.", "paradigm": "agreement", "category": "verbs"},
        {"good": "the cats sat.", "bad": "the cats sat.", "paradigm": "same", "category": "ties"},
    ]
    data, picture = tmp_path / "pairs.jsonl", tmp_path / "bars.png"
    data.write_text("\n".join(map(json.dumps, rows)))
    fields = unmask.json("evaluate", folder, "--data", str(data), "--picture", str(picture))
    good, bad = (
        text["log_probability"]
        for text in unmask.json("score", "the cat sits.", "the cats sits.", "-m", folder)["texts"]
    )
    assert fields.pop("seconds") > 0
    assert fields == {
        "task": "minimal_pairs",
        "metric": "accuracy",
        "score": ((good > bad) + 0.5) / 2,
        "examples": 2,
        "category_mean": ((good > bad) + 0.5) / 2,
        "categories": {"ties": 0.5, "verbs": float(good > bad)},
        "paradigms": {"agreement": float(good > bad), "same": 0.5},
    }
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "agreement" in unmask("evaluate", folder, "--data", str(data))[1]


def test_evaluate_judges_gaps(unmask: Command, folder: str, tmp_path: Path) -> None:
    best = unmask.json("fill", "snow is [MASK]", "-m", folder)["masks"][0]["candidates"]
    answers = [best[0]["token"], best[4]["token"], "white snow"]
    data = tmp_path / "gaps.jsonl"
    data.write_text("\n".join(json.dumps({"text": "snow is [MASK]", "answer": answer}) for answer in answers))
    fields = unmask.json("evaluate", folder, "--data", str(data))
    assert (fields["task"], fields["score"], fields["accuracy_at_5"]) == ("cloze", 1 / 3, 2 / 3)
    assert fields["longer"] == 1


@pytest.mark.parametrize(
    ("lines", "message"),
    [("", "an empty file"), ('{"sentence": "x"}', "fields sentence; wanted good and bad or text and answer")],
)
def test_evaluate_refuses_other_files(unmask: Command, folder: str, tmp_path: Path, lines: str, message: str) -> None:
    (tmp_path / "data.jsonl").write_text(lines)
    status, _, err = unmask("evaluate", folder, "--data", str(tmp_path / "data.jsonl"))
    assert status == 2
    assert message in err


def test_an_unknown_bench_is_refused(unmask: Command) -> None:
    status, _, err = unmask("bench", "lunch")
    assert status == 2
    assert "lunch" in err
