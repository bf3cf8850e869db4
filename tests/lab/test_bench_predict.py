"""Measuring answers: engines agree with one another, texts are as long as they should be, ratios are of medians."""

import json
from pathlib import Path

import numpy as np
import pytest

from unmask.errors import InputError
from unmask.lab import bench_predict
from unmask.lab.bench_predict import Prediction, make_forms, make_texts, measure_prediction
from unmask.lab.predict_engines import ENGINES, serve, sorted_by_length
from unmask.model.about import About
from unmask.model.bert import Bert
from unmask.model.config import BertConfig
from unmask.model.folder import save_model
from unmask.text.tokenizer import Tokenizer
from unmask.text.vocabulary import SPECIAL_PIECES

WORDS = ["rain", "snow", "wind", "cloud", "sun", "and", "over", "the", "hill", "river", "again", "slowly"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("forms")
    tokenizer = Tokenizer([*SPECIAL_PIECES, *WORDS, "."])
    config = BertConfig(vocabulary_size=tokenizer.size, width=32, layers=1, heads=2, feed_forward=48)
    save_model(folder / "bare", config, Bert(config), tokenizer, About())
    opened = make_forms(str(folder / "bare"), folder)
    chance = np.random.default_rng(0)
    lines = [" ".join(chance.choice(WORDS, size=chance.integers(4, 30))) + "." for _ in range(200)]
    (folder / "text.txt").write_text("\n".join(lines))
    make_texts(opened.tokenizer, folder / "text.txt", folder)
    return folder


def test_texts_have_the_lengths_that_they_should(folder: Path) -> None:
    tokenizer = Tokenizer.load(folder / "model")
    for kind, bounds in (("passages", (200, 400)), ("single texts", (8, 32))):
        texts = json.loads((folder / f"{kind}.json").read_text())
        assert texts
        assert all(bounds[0] <= len(tokenizer.encode(text).ids) <= bounds[1] for text in texts)


def test_passages_go_on_where_a_length_was_missed(folder: Path) -> None:
    tokenizer = Tokenizer.load(folder / "model")
    lines = [
        "rain and snow and wind again.",
        *(" ".join(["rain"] * 90) + "." for _ in range(200)),
    ]  # few lengths are met
    (folder / "long.txt").write_text("\n".join(lines))
    assert make_texts(tokenizer, folder / "long.txt", folder / "model")["passages"] > 30


@pytest.mark.parametrize("engine", [*ENGINES][1:])
@pytest.mark.filterwarnings("default")
def test_an_engine_makes_the_same_vectors(engine: str, folder: Path) -> None:
    expected = ENGINES["unmask float32"](folder, 1)(WORDS)
    said: list[object] = []
    (folder / "words.json").write_text(json.dumps(WORDS))
    serve(engine, folder, 1, [json.dumps(["words", 1])], said.append)
    if said == [{"missing": engine.split()[0].rstrip(",")}]:
        pytest.skip(f"{engine} is not installed")
    assert np.abs(np.load(folder / f"{engine}.npy") - expected).max() < (0.05 if "int8" in engine else 1e-4)


def test_sorting_gives_the_vectors_back_in_order() -> None:
    embed = sorted_by_length(lambda *_: lambda texts: np.array([[len(text)] for text in texts]))(Path(), 1)
    assert embed(["abc", "a", "ab"]).tolist() == [[3], [1], [2]]


@pytest.mark.slow
def test_engines_take_turns_in_their_own_processes(folder: Path) -> None:
    measured = measure_prediction(folder, bench_predict.AGAINST[""], rounds=1, threads=1).to_dict()
    assert measured["kinds"]["passages"]["medians"].keys() == {"unmask int8", "unmask float32"}
    assert measured["alike"]["unmask float32"] > 0.999


def test_an_engine_that_computes_something_else_is_an_error_and_a_rough_one_is_not(tmp_path: Path) -> None:
    ours = np.eye(9, dtype=np.float32)
    rough = ours.copy()
    rough[0] = 1 / 3
    for name, vectors in {"unmask float32": ours, "rough": rough, "other": ours[::-1]}.items():
        np.save(tmp_path / f"{name}.npy", vectors)
    assert bench_predict._alike(tmp_path, ["rough"])["rough"] == pytest.approx(1 / 3)
    with pytest.raises(InputError, match="other, whose vectors differ"):
        bench_predict._alike(tmp_path, ["rough", "other"])


def test_ratios_are_medians_of_rounds() -> None:
    rounds = {"sentences": {"unmask int8": [4.0, 8.0, 9.0], "transformers": [2.0, 2.0, 3.0]}}
    fields = Prediction(rounds, {"openvino": "openvino"}, {}, {}).to_dict()
    assert (fields["ours"], fields["theirs"], fields["ratio"]) == (8.0, 2.0, 3.0)
    assert fields["missing"] == {"openvino": "openvino"}
