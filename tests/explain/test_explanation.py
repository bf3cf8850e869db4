"""Explanations as scripts, notebooks and terminals see them; nothing that a text says becomes part of a page's code."""

import json
import re
from pathlib import Path

import pytest
from small_models import small_model

from unmask.errors import InputError
from unmask.explain.explaining import METHODS, explain, explained
from unmask.explain.page import explanation_page
from unmask.explain.subjects import subject_of
from unmask.model.folder import save_model

EVIL = '<script>alert("x")</script> the fox & nobody'


@pytest.mark.parametrize("method", METHODS)
def test_every_method_says_what_the_contract_asks_for(method: str) -> None:
    told = json.loads(json.dumps(explain(small_model("classes"), "the foxs was lazy", method=method).to_dict()))
    assert told["label"] in ("bad", "fair", "good")
    assert told["tokens"] == ["the", "foxs", "was", "lazy"]
    assert told["offsets"] == [[0, 3], [4, 8], [9, 12], [13, 17]]
    assert len(told["scores"]) == 4
    assert {"comprehensiveness", "sufficiency", "random", "p", "verdict"} <= told["faithfulness"].keys()
    assert ("completeness_error" in told) == ("steps" in told) == (method == "ig")
    assert ("standard_errors" in told) == (method == "shapley")


def test_a_folder_may_be_named_and_a_second_text_given_beside_the_first(tmp_path: Path) -> None:
    opened = small_model("classes")
    save_model(tmp_path / "judge", opened.config, opened.model, opened.tokenizer, opened.about)
    named = explain(tmp_path / "judge", "the fox", "was lazy", method="erasure", orders=9)
    assert named == explain(opened, ("the fox", "was lazy"), method="erasure", orders=9)


def test_the_same_seed_gives_the_same_explanation() -> None:
    opened = small_model("classes")
    text = "the quick fox was not what they had hoped for"
    assert explain(opened, text, method="shapley", seed=4) == explain(opened, text, method="shapley", seed=4)


@pytest.mark.parametrize("method", METHODS)
def test_both_texts_of_a_similarity_are_explained(method: str) -> None:
    found = explain(small_model("embedding"), ("the foxs was lazy", "a dog"), method=method, orders=19)
    assert len(found.scores) == len(found.words) == 6
    assert any(found.scores[:4])
    assert any(found.scores[4:])


def test_rollout_shares_what_is_left_by_the_special_pieces() -> None:
    scores = explain(small_model("classes"), "the fox was lazy", method="attention").scores
    assert min(scores) >= 0
    assert 0 < sum(scores) < 1


def test_an_unknown_method_is_refused() -> None:
    with pytest.raises(InputError, match="ig, gradient, erasure, shapley, attention"):
        explain(small_model("classes"), "the fox", method="tea leaves")


def test_pages_escape_what_texts_and_labels_say() -> None:
    opened = small_model("classes")
    subject = subject_of(opened, (EVIL, "[SEP] <b>lazy</b>"))
    page = explanation_page(explained(subject), subject)
    assert "<script" not in page
    assert "<b>" not in page
    shown = re.sub(r"<[^>]*>", "", page)
    assert "&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;" in shown
    assert "&amp; nobody" in shown


def test_a_page_asks_for_nothing_from_elsewhere() -> None:
    subject = subject_of(small_model("tokens"), "the fox was lazy", target="fox=PER")
    page = explanation_page(explained(subject), subject)
    assert not re.search(r"(?:src|href)=|url\(|@import|https?:", page)
    assert "default-src 'none'" in page


def test_a_terminal_shows_the_text_and_colours_where_it_has_them() -> None:
    found = explain(small_model("classes"), ("the fox was lazy", "我们 go !"))
    plain, coloured = found.in_colour(60, colour=False), found.in_colour(60)
    assert plain.startswith("the fox was lazy\n我们 go !\n")
    assert "\x1b[" in coloured
    assert "\x1b[" not in plain
    assert "comprehensiveness" in plain
    assert found.faithfulness.verdict in plain
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain
