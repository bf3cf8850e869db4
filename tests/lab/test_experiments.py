"""Every experiment end to end on made-up text: its rows, its report, what it does not do twice, what it refuses."""

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from unmask.errors import InputError
from unmask.lab import experiments, masking
from unmask.lab.experiment import begin, finished_rows
from unmask.lab.experiments import Found, run
from unmask.model.about import About
from unmask.model.bert import Bert
from unmask.model.config import BertConfig
from unmask.model.folder import open_model, save_model
from unmask.text.tokenizer import Tokenizer
from unmask.text.vocabulary import SPECIAL_PIECES

from .small_experiment import small, write_pairs

COSTS = {"name", "settings", "seconds", "steps", "tokens"}


@pytest.fixture(autouse=True)
def small_models(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unmask.model.config.SIZES", {"tiny": (2, 32, 2), "mini": (3, 32, 2)})


def without_times(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if name != "seconds"} for row in rows]


def check_outputs(found: Found) -> None:
    folder = found.asked.folder
    assert json.loads((folder / "rows.json").read_text())["rows"] == found.rows
    assert (folder / "table.png").read_bytes().startswith(b"\x89PNG")
    report = (folder / "report.md").read_text()
    assert all(row["name"] in report for row in found.rows)
    assert "Compare the order of the rows" in report
    assert all(set(row) == COSTS | set(found.columns) for row in found.rows)
    assert all(row["steps"] > 0 and row["tokens"] > 0 and row["seconds"] > 0 for row in found.rows)


def test_objectives_have_a_row_each_and_left_to_right_stays_so(tmp_path: Path) -> None:
    found = run(small("objectives", tmp_path))
    check_outputs(found)
    bert, no_next, causal, again = found.rows
    assert bert["nsp_accuracy"] is not None
    assert no_next["nsp_accuracy"] is None
    assert causal["clm_loss"] == again["clm_loss"] > 0
    assert causal["mlm_loss"] is None
    assert all(0 <= row["score"] <= 1 for row in found.rows)
    assert open_model(tmp_path / "out" / "tuned" / "clm").config.causal
    assert open_model(tmp_path / "out" / "tuned" / "clm-bilstm").about.features["reader"] == "bilstm"
    assert not open_model(tmp_path / "out" / "tuned" / "mlm").config.causal


def test_without_examples_objectives_are_measured_by_their_own_losses(tmp_path: Path) -> None:
    found = run(small("objectives", tmp_path, labelled=False))
    assert [row["name"] for row in found.rows] == ["BERT", "no next sentence", "left to right"]
    assert all(row["score"] is None for row in found.rows)
    assert "fine-tuned" not in (tmp_path / "out" / "report.md").read_text().split("##")[0]


def test_sizes_say_how_well_each_fills_gaps(tmp_path: Path) -> None:
    found = run(small("sizes", tmp_path, labelled=False))
    check_outputs(found)
    tiny, mini = found.rows
    assert (tiny["name"], mini["name"]) == ("tiny", "mini")
    assert tiny["parameters"] < mini["parameters"]
    assert tiny["perplexity"] == pytest.approx(math.exp(tiny["mlm_loss"]))


def test_features_of_a_model_stand_beside_its_fine_tuning(tmp_path: Path) -> None:
    asked = small("features", tmp_path)
    words = sorted({word for line in asked.train[0].read_text().split("\n") for word in line.split(",")[0].split()})
    config = BertConfig(vocabulary_size=5 + len(words), width=32, layers=2, heads=2, feed_forward=64, positions=32)
    save_model(tmp_path / "encoder", config, Bert(config), Tokenizer([*SPECIAL_PIECES, *words]), About())
    found = run(replace(asked, model=str(tmp_path / "encoder")))
    check_outputs(found)
    assert [row["settings"].get("features") for row in found.rows] == [
        None, "embeddings", "second-to-last", "last", "weighted-last-4", "concat-last-4", "weighted-all",
    ]  # fmt: skip


def test_features_serve_tagging_too(tmp_path: Path) -> None:
    words, tags = ["ann", "and", "bob", "sang"], ["B-PER", "O", "B-PER", "O"]
    path = tmp_path / "tagged.jsonl"
    path.write_text((json.dumps({"tokens": words, "tags": tags}) + "\n") * 6)
    config = BertConfig(vocabulary_size=9, width=32, layers=2, heads=2, feed_forward=64, positions=32)
    save_model(tmp_path / "encoder", config, Bert(config), Tokenizer([*SPECIAL_PIECES, *words]), About())
    asked = small("features", tmp_path, labelled=False, train=(path,), dev=(path,), task="tag")
    found = run(replace(asked, model=str(tmp_path / "encoder")))
    assert len(found.rows) == 7
    assert all(0 <= row["score"] <= 1 for row in found.rows)


def test_masking_tries_the_papers_mixes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(masking, "PAPER_MIXES", ((80, 10, 10), (0, 20, 80)))
    found = run(small("masking", tmp_path))
    check_outputs(found)
    usual, random = found.rows
    assert random["name"] == "0 mask, 20 same, 80 random"
    assert tuple(random["settings"]["mask_mix"]) == (0.0, 0.8, 0.2)
    assert {"mlm_loss", "score", "feature_score"} <= {name for name, value in random.items() if value is not None}
    assert usual["mlm_loss"] != random["mlm_loss"]


def test_ancestors_are_compared_on_the_same_task_and_words(tmp_path: Path) -> None:
    found = run(small("ancestors", tmp_path, similarity=write_pairs(tmp_path)))
    check_outputs(found)
    assert [row["name"] for row in found.rows] == ["word2vec", "GloVe", "ELMo", "GPT", "BERT"]
    assert all(0 <= row["feature_score"] <= 1 for row in found.rows)
    assert all(-1 <= row["similarity"] <= 1 for row in found.rows)
    assert [row["score"] is not None for row in found.rows] == [False, False, False, True, True]


def test_the_same_seed_gives_the_same_rows(tmp_path: Path) -> None:
    rows = []
    for place in ("one", "other"):
        (tmp_path / place).mkdir()
        asked = small("ancestors", tmp_path / place, similarity=write_pairs(tmp_path / place), steps=2)
        rows.append(without_times(run(asked).rows))
    assert rows[0] == rows[1]


def test_an_interrupted_experiment_goes_on_without_repeating_rows(tmp_path: Path) -> None:
    asked, steps = small("objectives", tmp_path, labelled=False, steps=6), list[str]()

    @contextmanager
    def show(title: str) -> Iterator[Callable[..., None]]:
        yield lambda *_: steps.append(title)

    with pytest.raises(KeyboardInterrupt):
        run(asked, show=show, stop=lambda: len(steps) == 8)
    assert [row["name"] for row in finished_rows(asked.folder)] == ["BERT"]
    steps.clear()
    found = run(asked, show=show)
    assert Counter(steps) == {"pretraining mlm": 3, "pretraining clm": 6}
    whole = run(replace(asked, folder=tmp_path / "whole"))
    assert without_times(found.rows) == without_times(whole.rows)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"seed": 1}, "seed 0 there, 1 here"),
        ({"experiment": "masking"}, "experiment 'objectives' there, 'masking' here"),
        ({"steps": 5}, "steps 4 there, 5 here"),
    ],
)
def test_a_folder_of_another_experiment_is_refused(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    begin(small("objectives", tmp_path))
    with pytest.raises(InputError, match=said):
        run(replace(small("objectives", tmp_path), **changes))


def test_changed_text_is_noticed(tmp_path: Path) -> None:
    asked = small("objectives", tmp_path)
    begin(asked)
    asked.text[0].write_text("Another text.")
    with pytest.raises(InputError, match=r"text \{'stories.txt'"):
        begin(asked)


def test_the_folder_of_a_pretraining_is_refused(tmp_path: Path) -> None:
    asked = small("objectives", tmp_path)
    asked.folder.mkdir()
    (asked.folder / "settings.json").write_text("{}")
    with pytest.raises(InputError, match="the folder of another run"):
        run(asked)


def test_every_experiment_has_a_title_and_the_papers_table() -> None:
    from unmask.lab.experiment_report import TITLES
    from unmask.lab.paper_tables import TABLES

    assert set(experiments.EXPERIMENTS) == set(TITLES) == set(TABLES)
    assert all(len(row) == len(table.columns) + 1 for table in TABLES.values() for row in table.rows)


def test_the_papers_masking_table_has_our_rows() -> None:
    from unmask.lab.paper_tables import TABLES

    assert [row[0] for row in TABLES["masking"].rows] == [masking.name_of(*mix) for mix in masking.PAPER_MIXES]
