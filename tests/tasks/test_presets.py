"""Presets: every official layout read from made files, the public files where they are, and answer files as asked."""

import csv
import gzip
import json
from pathlib import Path

import pytest

from unmask.data.examples import ChoiceExample, GivenAnswer, QuestionExample, TextExample
from unmask.errors import InputError
from unmask.tasks.asked import asked
from unmask.tasks.metrics import METRICS
from unmask.tasks.preset import Preset
from unmask.tasks.preset_files import find_files, read_files
from unmask.tasks.presets import GLUE, PRESETS, preset_named
from unmask.tasks.submission import write_submission

PAIR = ("It rains.", "It is wet.")
QUESTION = {"id": "q1", "question": "Who sang?", "answers": [{"text": "Ann", "answer_start": 0}]}
SQUAD = json.dumps({"data": [{"title": "T", "paragraphs": [{"context": "Ann sang.", "qas": [QUESTION]}]}]})
IMPOSSIBLE = SQUAD.replace('"id": "q1"', '"id": "q1", "is_impossible": false')
ANSWERED = QuestionExample("Who sang?", "Ann sang.", (GivenAnswer("Ann", 0),), "q1")
C3 = json.dumps([[["男：下雨了。"], [{"question": "天气?", "choice": ["晴", "雨"], "answer": "雨"}], "1"]])

# preset -> a made file in its official layout, and the example that it holds
MADE = {
    "cola": ("train.tsv", 'ab01\t0\t*\tHim "sang.\n', TextExample('Him "sang.', label="0")),
    "sst2": ("dev.tsv", "sentence\tlabel\na fine film \t1\n", TextExample("a fine film ", label="1")),
    "mrpc": (
        "train.tsv",
        "\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\n1\t7\t8\tIt rains.\tIt is wet.\n",
        TextExample(*PAIR, "1"),
    ),
    "stsb": (
        "dev.tsv",
        "index\tgenre\tfilename\tyear\told_index\tsource1\tsource2\tsentence1\tsentence2\tscore\n"
        "3\tnews\tx\t2012\t1\tnone\tnone\tIt rains.\tIt is wet.\t3.800\n",
        TextExample(*PAIR, 3.8, "3"),
    ),
    "qqp": (
        "train.tsv",
        "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n4\tlost\n5\t1\t2\tIt rains.\tIt is wet.\t0\n",
        TextExample(*PAIR, "0", "5"),
    ),
    "mnli": (
        "dev_matched.tsv",
        "index\tpairID\tsentence1_parse\tsentence1\tsentence2\tlabel1\tgold_label\n"
        "0\t1p\t(x)\tIt rains.\tIt is wet.\tneutral\tentailment\n1\t2p\t(x)\tA.\tB.\tneutral\t-\n",
        TextExample(*PAIR, "entailment", "0"),
    ),
    "qnli": (
        "train.tsv",
        "index\tquestion\tsentence\tlabel\n0\tIt rains.\tIt is wet.\tnot_entailment\n",
        TextExample(*PAIR, "not_entailment", "0"),
    ),
    "rte": (
        "train.tsv",
        "index\tsentence1\tsentence2\tlabel\n0\tIt rains.\tIt is wet.\tentailment\n",
        TextExample(*PAIR, "entailment", "0"),
    ),
    "wnli": (
        "train.tsv",
        "index\tsentence1\tsentence2\tlabel\n0\tIt rains.\tIt is wet.\t1\n",
        TextExample(*PAIR, "1", "0"),
    ),
    "squad1": ("train-v1.1.json", SQUAD, ANSWERED),
    "squad2": ("dev-v2.0.json", IMPOSSIBLE, ANSWERED),
    "swag": (
        "val.csv",
        ",video-id,fold-ind,startphrase,sent1,sent2,gold-source,ending0,ending1,ending2,ending3,label\n"
        "0,v1,1,It rains. Ann,It rains.,Ann,gold,runs.,sings.,sleeps.,melts.,0\n",
        ChoiceExample("It rains.", ("Ann runs.", "Ann sings.", "Ann sleeps.", "Ann melts."), 0, id="v1"),
    ),
    "codah": (
        "train.tsv",
        "o\tIt rains. Ann\truns.\tsings.\tsleeps.\tmelts.\t3\n",
        ChoiceExample("It rains. Ann", ("runs.", "sings.", "sleeps.", "melts."), 3),
    ),
    "conll2003": ("eng.testa", "-DOCSTART- -X- O O\n\nAnn NNP I-NP I-PER\nsang VBD I-VP O\n", ("I-PER", "O")),
    "chnsenticorp": ("dev.tsv", "label\ttext_a\n1\t房间很好\n", TextExample("房间很好", label="1")),
    "lcqmc": ("dev.txt", "怎么去？\t如何去？\t1\n", TextExample("怎么去？", "如何去？", "1")),
    "afqmc": (
        "dev.json",
        '{"sentence1": "怎么去？", "sentence2": "如何去？", "label": "1"}\n',
        TextExample("怎么去？", "如何去？", "1"),
    ),
    "tnews": (
        "train.json",
        '{"label": "108", "label_desc": "news_edu", "sentence": "开学了", "keywords": "学校"}\n',
        TextExample("开学了", label="news_edu"),
    ),
    "ocnli": (
        "train.50k.json",
        '{"sentence1": "下雨", "sentence2": "地湿", "label": "entailment", "label0": null, "id": 9}\n'
        '{"sentence1": "下雨", "sentence2": "天晴", "label": "-", "id": 8}\n',
        TextExample("下雨", "地湿", "entailment", "9"),
    ),
    "cmrc2018": ("cmrc2018_train.json", SQUAD, ANSWERED),
    "msra_ner": ("msra_test_bio.txt", "李\tB-PER\n白\tI-PER\n", ("B-PER", "I-PER")),
    "c3": ("c3-m-dev.json", C3, ChoiceExample("男：下雨了。", ("晴", "雨"), 1, "天气?", "1-0")),
}


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("compressed", [False, True])
def test_a_made_file_in_the_official_layout_is_found_and_read(tmp_path: Path, name: str, compressed: bool) -> None:
    file, content, expected = MADE[name]
    (tmp_path / f"{file}.gz" if compressed else tmp_path / file).write_bytes(
        gzip.compress(content.encode()) if compressed else content.encode()
    )
    [paths] = find_files(PRESETS[name], tmp_path).values()
    [example] = read_files(PRESETS[name], paths).examples
    assert (example.tags if isinstance(expected, tuple) else example) == expected


@pytest.mark.parametrize("preset", PRESETS.values(), ids=PRESETS)
def test_a_preset_is_consistent(preset: Preset) -> None:
    assert "train" in preset.files
    assert set(preset.submission) <= set(preset.files)
    assert set(preset.published) <= set(preset.files)
    assert bool(preset.source) == bool(preset.published)
    assert all(30 < score < 100 for score in preset.published.values())
    assert bool(preset.labels) == (preset.task == "classify")
    if preset.task in ("classify", "regress"):
        assert set(preset.metrics) <= set(METRICS)


def test_glue_is_nine_presets_with_answer_files_of_their_own() -> None:
    files = [file for name in GLUE for file in PRESETS[name].submission.values()]
    assert len(GLUE) == len(set(GLUE)) == 9
    names = ["CoLA", "MNLI-m", "MNLI-mm", "MRPC", "QNLI", "QQP", "RTE", "SST-2", "STS-B", "WNLI"]
    assert sorted(files) == [f"{name}.tsv" for name in names]


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InputError, match=r"preset 'mrcp'; wanted one of cola, sst2"):
        preset_named("mrcp")


def test_subsets_and_inner_folders_are_found_and_whole_files_go_first(tmp_path: Path) -> None:
    inner = tmp_path / "MNLI"
    inner.mkdir()
    for name in ("train.part.tsv.gz", "dev_matched.first-half.tsv", "dev_mismatched.tsv", "dev_mismatched.part.tsv"):
        (inner / name).write_text("")
    found = find_files(PRESETS["mnli"], tmp_path)
    assert {part: paths[0].name for part, paths in found.items()} == {
        "train": "train.part.tsv.gz",
        "dev": "dev_matched.first-half.tsv",
        "dev_mismatched": "dev_mismatched.tsv",
    }


def test_both_halves_of_c3_are_read_together(tmp_path: Path) -> None:
    for name in ("c3-d-train.json", "c3-m-train.json"):
        (tmp_path / name).write_text(C3)
    paths = find_files(PRESETS["c3"], tmp_path)["train"]
    reading = read_files(PRESETS["c3"], paths)
    assert [path.name for path in paths] == ["c3-d-train.json", "c3-m-train.json"]
    assert len(reading.examples) == len(reading.places) == 2


def test_a_folder_without_the_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"without a file of MRPC; wanted train.tsv, dev.tsv, test.tsv"):
        find_files(PRESETS["mrpc"], tmp_path)
    with pytest.raises(InputError, match="no folder"):
        find_files(PRESETS["mrpc"], tmp_path / "absent")


def test_glue_answers_are_words_numbers_or_values(tmp_path: Path) -> None:
    examples = [TextExample("a", "b", id="4"), TextExample("c", "d")]
    write_submission(PRESETS["qnli"], examples, ["not_entailment", "entailment"], tmp_path)
    write_submission(PRESETS["stsb"], examples, [5.3, 2.12345], tmp_path)
    write_submission(PRESETS["mnli"], examples, ["neutral", "entailment"], tmp_path, part="test_mismatched")
    assert (tmp_path / "QNLI.tsv").read_text() == "index\tprediction\n4\tnot_entailment\n1\tentailment\n"
    assert (tmp_path / "STS-B.tsv").read_text() == "index\tprediction\n4\t5.000\n1\t2.123\n"
    assert (tmp_path / "MNLI-mm.tsv").read_text().startswith("index\tprediction\n4\tneutral\n")


def test_squad_answers_are_texts_by_question(tmp_path: Path) -> None:
    examples = [QuestionExample("谁?", "x", id="q1"), QuestionExample("Who?", "y", id="q2")]
    files = write_submission(PRESETS["squad2"], examples, ["雪", None], tmp_path, no_answer=[0.25, 1.0])
    assert [file.name for file in files] == ["predictions.json", "na_prob.json"]
    assert json.loads(files[0].read_text()) == {"q1": "雪", "q2": ""}
    assert json.loads(files[1].read_text()) == {"q1": 0.25, "q2": 1.0}


def test_a_set_without_an_answer_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"swag test; wanted a part with an official answer file \(here: none\)"):
        write_submission(PRESETS["swag"], [], [], tmp_path)


# preset, folder -> examples of each part; OCNLI without its 15 and 50 rows that have no label
SHARED = [
    ("cola", "glue", {"train": 8551, "test": 1063}),
    ("sst2", "glue", {"train": 67349, "dev": 872, "test": 1821}),
    ("mrpc", "glue/MRPC", {"train": 3667, "dev": 408, "test": 1725}),
    ("stsb", "glue", {"train": 5749, "dev": 1500}),
    ("rte", "glue", {"train": 2490, "test": 3000}),
    ("wnli", "glue", {"train": 635, "dev": 71, "test": 146}),
    ("qnli", "glue", {"dev": 2996}),
    ("qqp", "glue", {"train": 16212, "dev": 2000}),
    ("mnli", "glue", {"train": 10000, "dev": 4836}),
    ("squad1", "squad", {"dev": 5696}),
    ("squad2", "squad", {"dev": 5690}),
    ("codah", "codah", {"train": 1665, "dev": 556}),
    ("conll2003", "conll2003", {"train": 14041, "dev": 3250, "test": 1696}),
    ("chnsenticorp", "chnsenticorp", {"train": 9600, "dev": 1200}),
    ("lcqmc", "lcqmc", {"dev": 8802}),
    ("afqmc", "afqmc", {"train": 34334, "dev": 4316}),
    ("tnews", "tnews", {"train": 53360, "dev": 10000}),
    ("ocnli", "ocnli", {"train": 9985, "dev": 2950}),
    ("cmrc2018", "cmrc2018", {"train": 10142, "trial": 1002}),
    ("msra_ner", "msra_ner", {"test": 1721}),
    ("c3", "c3", {"train": 5856 + 6013, "dev": 1825 + 1991}),
]
LARGE = [("squad1", "squad", {"train": 87599}), ("msra_ner", "msra_ner", {"train": 51391})]


def test_a_trial_set_stands_in_for_a_dev_set_that_is_not_there(tmp_path: Path) -> None:
    for name in ("train.json", "trial.json"):
        (tmp_path / name).write_text("{}")
    assert [path.name for path in asked("cmrc2018").files(tmp_path, "dev")] == ["trial.json"]
    (tmp_path / "dev.json").write_text("{}")
    assert [path.name for path in asked("cmrc2018").files(tmp_path, "dev")] == ["dev.json"]
    assert asked("cmrc2018").files(tmp_path, "test") == ()


@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "folder", "counts"), [*SHARED, *(pytest.param(*row, marks=pytest.mark.slow) for row in LARGE)]
)
def test_public_files_hold_as_many_examples_as_published(
    shared_data: Path, name: str, folder: str, counts: dict[str, int]
) -> None:
    preset = PRESETS[name]
    files = find_files(preset, shared_data / folder)
    for part, count in counts.items():
        labelled = part != "test" or preset.task == "tag"
        reading = read_files(preset, files[part], labelled=labelled)
        assert len(reading.examples) == count
        if preset.labels and labelled:
            assert {example.label for example in reading.examples} == set(preset.labels)
        if name == "squad2":
            assert sum(example.answers == () for example in reading.examples) == 2916


@pytest.mark.shared
@pytest.mark.parametrize(("name", "columns"), [("mrpc", ("#1 String", "Quality")), ("stsb", ("sentence1", "score"))])
def test_public_tables_are_read_as_the_csv_module_reads_them(
    shared_data: Path, name: str, columns: tuple[str, str]
) -> None:
    [path] = find_files(PRESETS[name], shared_data / "glue")["dev"]
    with path.open(encoding="utf-8-sig", newline="") as file:
        theirs = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    ours = read_files(PRESETS[name], [path]).examples
    assert [example.text for example in ours] == [row[columns[0]] for row in theirs]
    assert [float(example.label) for example in ours] == [float(row[columns[1]]) for row in theirs]


@pytest.mark.shared
def test_displaced_answers_of_public_files_are_mended(shared_data: Path) -> None:
    reading = PRESETS["cmrc2018"].read(shared_data / "cmrc2018" / "trial.json")
    assert reading.notes[0].startswith("5 answers moved to where they stand")
    for example in reading.examples:
        assert all(example.context.startswith(answer.text, answer.start) for answer in example.answers)
