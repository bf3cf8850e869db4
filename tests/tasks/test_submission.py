"""Answer files: each in the layout that its evaluation publishes, in the order of the test file."""

import json
from pathlib import Path

import pytest

from unmask.data.examples import ChoiceExample, QuestionExample, TextExample
from unmask.errors import InputError
from unmask.tasks.preset_files import find_files, part_of, read_files
from unmask.tasks.presets import PRESETS
from unmask.tasks.submission import write_submission

PAIR = TextExample("下雨", "地湿", id="0")


def written(tmp_path: Path, name: str, examples: list[object], answers: list[object], part: str = "test") -> str:
    [file] = write_submission(PRESETS[name], examples, answers, tmp_path, part=part)  # type: ignore[arg-type]
    assert file == tmp_path / PRESETS[name].submission[part]
    return file.read_text()


def test_clue_takes_an_object_a_line_with_labels_as_texts(tmp_path: Path) -> None:
    later = TextExample("天晴", "地湿", id="1")
    assert written(tmp_path, "afqmc", [PAIR, later], ["1", "0"]) == '{"id": 0, "label": "1"}\n{"id": 1, "label": "0"}\n'
    assert written(tmp_path, "ocnli", [PAIR], ["neutral"]) == '{"id": 0, "label": "neutral"}\n'


def test_rows_without_an_id_are_numbered_and_names_stay_texts(tmp_path: Path) -> None:
    told = written(tmp_path, "afqmc", [TextExample("a", "b"), TextExample("a", "b", id="x7")], ["1", "0"])
    assert [json.loads(line)["id"] for line in told.splitlines()] == [0, "x7"]


def test_news_are_submitted_by_the_numbers_that_clue_gave_them(tmp_path: Path) -> None:
    labels = PRESETS["tnews"].labels
    told = written(tmp_path, "tnews", [TextExample("开学了")] * len(labels), list(labels))
    codes = dict(zip(labels, (json.loads(line)["label"] for line in told.splitlines()), strict=True))
    assert (codes["news_story"], codes["news_finance"], codes["news_house"]) == ("100", "104", "106")
    assert (codes["news_military"], codes["news_travel"], codes["news_game"]) == ("110", "112", "116")


def test_endings_are_submitted_by_their_numbers(tmp_path: Path) -> None:
    examples = [ChoiceExample("下雨了。", ("晴", "雨"), None, "天气?", str(id)) for id in (5, 6)]
    told = written(tmp_path, "c3", examples, [1, 0])
    assert told == '{"id": 5, "label": 1}\n{"id": 6, "label": 0}\n'


def test_answers_of_cmrc_are_texts_by_question(tmp_path: Path) -> None:
    questions = [
        QuestionExample("谁?", "雪下了", id="TEST_0_QUERY_0"),
        QuestionExample("谁?", "雪", id="TEST_0_QUERY_1"),
    ]
    told = json.loads(written(tmp_path, "cmrc2018", questions, ["雪", None]))
    assert told == {"TEST_0_QUERY_0": "雪", "TEST_0_QUERY_1": ""}


@pytest.mark.parametrize(
    ("name", "file", "submitted"),
    [
        ("tnews", "test.json", "tnews11_predict.json"),
        ("tnews", "test1.0.json", "tnews10_predict.json"),
        ("c3", "test1.1.json", "c311_predict.json"),
        ("c3", "test1.0.json", "c310_predict.json"),
        ("afqmc", "test.json", "afqmc_predict.json"),
        ("ocnli", "test.json", "ocnli_50k_predict.json"),
        ("cmrc2018", "cmrc2018_test_2k.json", "cmrc2018_predict.json"),
        ("mnli", "test_mismatched.tsv.gz", "MNLI-mm.tsv"),
    ],
)
def test_the_name_of_a_test_file_says_which_answers_it_wants(name: str, file: str, submitted: str) -> None:
    part = part_of(PRESETS[name], Path(file))
    assert part is not None
    assert PRESETS[name].submission[part] == submitted


def test_questions_of_c3_keep_the_ids_of_clue(tmp_path: Path) -> None:
    asked = {"question": "天气?", "choice": ["晴", "雨"]}
    passages = [[["下雨了。"], [{**asked, "id": 41}, {**asked, "id": 42}]], [["天晴。"], [asked], "m-7"]]
    (tmp_path / "test1.1.json").write_text(json.dumps(passages))
    paths = find_files(PRESETS["c3"], tmp_path)["test"]
    examples = read_files(PRESETS["c3"], paths, labelled=False).examples
    assert [example.id for example in examples] == ["41", "42", "m-7-0"]


def test_a_label_that_the_set_does_not_know_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a model that says 'wet'; wanted one of 'contradiction'"):
        written(tmp_path, "ocnli", [PAIR], ["wet"])
    assert list(tmp_path.iterdir()) == []
