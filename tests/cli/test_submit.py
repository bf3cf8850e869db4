"""`predict --submit` on the sets of CLUE, from the training file to the answer file, as a user meets it."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from unmask.cli import build
from unmask.model.about import About
from unmask.model.bert import Bert
from unmask.model.config import BertConfig
from unmask.model.folder import save_model
from unmask.text.tokenizer import Tokenizer
from unmask.text.vocabulary import SPECIAL_PIECES

CHARACTERS = tuple("雨雪晴下了天开学卖房谁什么气？")
Rows = list[dict[str, Any]]


def lines(rows: Rows) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def pairs(labels: tuple[str, str]) -> tuple[str, str]:
    same, other = {"sentence1": "下雨了", "sentence2": "雨"}, {"sentence1": "下雨了", "sentence2": "晴天"}
    train = [{**same, "label": labels[0]}, {**other, "label": labels[1]}] * 8
    return lines(train), lines([{"id": 0, **other}, {"id": 1, **same}])


def news() -> tuple[str, str]:
    school = {"label": "108", "label_desc": "news_edu", "sentence": "开学了", "keywords": ""}
    house = {"label": "106", "label_desc": "news_house", "sentence": "卖房", "keywords": ""}
    test = [{"id": 0, "sentence": "卖房", "keywords": ""}, {"id": 1, "sentence": "开学了", "keywords": ""}]
    return lines([school, house] * 8), lines(test)


def questions() -> tuple[str, str]:
    def article(context: str, id: str, **answer: Any) -> dict[str, Any]:
        asked = {"id": id, "question": "下什么？", **answer}
        return {"title": "天气", "paragraphs": [{"id": id, "context": context, "qas": [asked]}]}

    told = [("天下雨了", "雨", 2), ("天气下雪了", "雪", 3)]
    train = [
        article(context, f"TRAIN_{number}_QUERY_0", answers=[{"text": text, "answer_start": start}])
        for number, (context, text, start) in enumerate(told * 8)
    ]
    test = [article("天下雨了", "TEST_0_QUERY_0"), article("天气下雪了", "TEST_1_QUERY_0")]
    return json.dumps({"data": train}), json.dumps({"data": test})


def choices() -> tuple[str, str]:
    def passage(line: str, **more: Any) -> list[Any]:
        return [[line], [{"question": "天气？", "choice": ["晴", "雨"], **more}]]

    train = [[*passage("下雨了", answer="雨"), "1"], [*passage("天晴", answer="晴"), "2"]]
    return json.dumps(train * 8), json.dumps([passage("天晴", id=70), passage("下雨了", id=71)])


# preset -> the names of its training and test file, and what they hold; the answer file and what it should hold
CLUE: dict[str, tuple[str, str, tuple[str, str], str, Any]] = {
    "afqmc": (
        *("train.json", "test.json", pairs(("1", "0")), "afqmc_predict.json"),
        [{"id": 0, "label": "0"}, {"id": 1, "label": "1"}],
    ),
    "ocnli": (
        *("train.50k.json", "test.json", pairs(("entailment", "contradiction")), "ocnli_50k_predict.json"),
        [{"id": 0, "label": "contradiction"}, {"id": 1, "label": "entailment"}],
    ),
    "tnews": (
        *("train.json", "test.json", news(), "tnews11_predict.json"),
        [{"id": 0, "label": "106"}, {"id": 1, "label": "108"}],
    ),
    "cmrc2018": (
        *("train.json", "test.json", questions(), "cmrc2018_predict.json"),
        {"TEST_0_QUERY_0": "雨", "TEST_1_QUERY_0": "雪"},
    ),
    "c3": (
        *("d-train.json", "test1.1.json", choices(), "c311_predict.json"),
        [{"id": 70, "label": 0}, {"id": 71, "label": 1}],
    ),
}


def run(*words: Any) -> None:
    result = CliRunner().invoke(build(), [str(word) for word in words])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output


@pytest.fixture
def encoder(tmp_path: Path) -> Path:
    shape = {"width": 32, "layers": 2, "heads": 2, "feed_forward": 64, "positions": 32}
    config = BertConfig(vocabulary_size=len(CHARACTERS) + 5, **shape, initial_deviation=0.2)
    save_model(tmp_path / "encoder", config, Bert(config), Tokenizer([*SPECIAL_PIECES, *CHARACTERS]), About())
    return tmp_path / "encoder"


@pytest.mark.parametrize("name", CLUE)
def test_a_set_of_clue_goes_from_its_files_to_its_answer_file(encoder: Path, tmp_path: Path, name: str) -> None:
    train, test, (examples, asked), submitted, wanted = CLUE[name]
    data = tmp_path / "data"
    data.mkdir()
    (data / train).write_text(examples)
    (data / test).write_text(asked)
    learn = ("--dev", data / train, "--epochs", 40, "--lr", 3e-3, "--batch-size", 8, "--quiet")
    run("finetune", name, "-m", encoder, "--train", data, "-o", tmp_path / "model", *learn)
    run("predict", tmp_path / "model", "--input", data / test, "--submit", tmp_path / "answers", "--quiet")
    told = (tmp_path / "answers" / submitted).read_text()
    assert (json.loads(told) if name == "cmrc2018" else [json.loads(line) for line in told.splitlines()]) == wanted
