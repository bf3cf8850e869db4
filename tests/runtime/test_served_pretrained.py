"""Exported pretrained models: words, layers, scores and judgements are those of the model in torch, without torch."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from small_models import small_model

from unmask.apps.features import POOLINGS, Features
from unmask.apps.fill import Filler
from unmask.apps.following import Following
from unmask.apps.judging import judge_pretrained
from unmask.apps.load import load
from unmask.apps.score import Scorer
from unmask.compress.export import export
from unmask.errors import InputError
from unmask.runtime.folder import ServingFolder, open_serving

MODEL = small_model("pretraining")
TEXTS = ["the quick brown fox", "dogs", "it was not the weather , ok ?", "我们明天去北京", "a dog", "lazy dogs go !"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return export(MODEL, tmp_path_factory.mktemp("pretrained")).folder


@pytest.fixture(scope="module")
def served(folder: Path) -> ServingFolder:
    return open_serving(folder, threads=1)


def test_scores_are_those_of_torch(served: ServingFolder) -> None:
    expected, found = (Scorer(model, MODEL.tokenizer)(TEXTS) for model in (MODEL.model, served))
    for one, other in zip(expected.texts, found.texts, strict=True):
        assert [(word.start, word.end) for word in other.words] == [(word.start, word.end) for word in one.words]
        assert [word.log_probability for word in other.words] == pytest.approx(
            [word.log_probability for word in one.words], abs=1e-4
        )


@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("layers", [(-1,), (0, -2), (1, 1)])
def test_features_are_those_of_torch(served: ServingFolder, layers: tuple[int, ...], pooling: str) -> None:
    expected, found = (
        Features(model, MODEL.tokenizer)(TEXTS, layers=layers, pooling=pooling).vectors
        for model in (MODEL.model, served)
    )
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_every_piece_has_its_features(served: ServingFolder) -> None:
    expected, found = (Features(model, MODEL.tokenizer).pieces(TEXTS) for model in (MODEL.model, served))
    for one, other in zip(expected.vectors, found.vectors, strict=True):
        np.testing.assert_allclose(other, one, atol=1e-4)


def test_masks_of_many_texts_are_filled_alike(served: ServingFolder) -> None:
    texts = ["the [MASK] fox [MASK]", "[MASK]", "我们[MASK]天去", "a lazy [MASK] was not ok"]
    expected, found = (Filler(model, MODEL.tokenizer).many(texts) for model in (MODEL.model, served))
    for one, other in zip(expected, found, strict=True):
        tokens = [[candidate.token for candidate in mask.candidates] for mask in one.masks]
        assert [[candidate.token for candidate in mask.candidates] for mask in other.masks] == tokens


def test_what_follows_is_judged_alike(served: ServingFolder) -> None:
    expected, found = (Following(model, MODEL.tokenizer)("the fox", "a dog") for model in (MODEL.model, served))
    assert found.probability == pytest.approx(expected.probability, abs=1e-5)


def test_minimal_pairs_and_gaps_are_judged_alike(served: ServingFolder, tmp_path: Path) -> None:
    rows = {
        "pairs": [{"good": "the dog was lazy", "bad": "lazy the was dog", "paradigm": "order", "category": "syntax"}],
        "gaps": [{"text": "the quick brown [MASK]", "answer": "fox"}],
    }
    for name, examples in rows.items():
        data = tmp_path / f"{name}.jsonl"
        data.write_text("".join(json.dumps(row) + "\n" for row in examples * 2))
        assert judge_pretrained(served, data).to_dict() == judge_pretrained(MODEL, data).to_dict()


def test_an_exported_model_is_judged_in_its_own_precision(served: ServingFolder, tmp_path: Path) -> None:
    data = tmp_path / "pairs.jsonl"
    data.write_text(json.dumps({"good": "dogs", "bad": "dog"}))
    with pytest.raises(InputError, match="a model folder"):
        judge_pretrained(served, data, precision="bfloat16")


def test_a_bare_encoder_gives_its_layers(tmp_path: Path) -> None:
    opened = small_model(None)
    export(opened, tmp_path)
    expected = Features(opened.model, opened.tokenizer)(TEXTS, layers=(-1, -2)).vectors
    np.testing.assert_allclose(load(tmp_path)(TEXTS, layers=(-1, -2)).vectors, expected, atol=1e-4)


def test_a_folder_for_another_purpose_says_so(tmp_path: Path) -> None:
    export(small_model("classes"), tmp_path)
    opened = open_serving(tmp_path)
    with pytest.raises(InputError, match="fill masks"):
        Scorer(opened, opened.tokenizer)
    with pytest.raises(InputError, match="states of its layers"):
        Features(opened, opened.tokenizer)


@pytest.mark.parametrize("asked", [["score", "the fox"], ["features", "the fox"], ["fill", "the [MASK]"]])
def test_no_verb_loads_torch(folder: Path, asked: list[str]) -> None:
    code = (
        "import sys\nfrom unmask.cli import main\n"
        f"sys.argv = ['unmask', *{asked!r}, '-m', {str(folder)!r}, '--json']\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code, end.code\n"
        "assert 'torch' not in sys.modules\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout)
