"""Probes find what is in the states and nothing else; control tasks can only be learned by heart; layers' words."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from small_models import small_model

from unmask import cli
from unmask.data.examples import TaggedExample
from unmask.data.ragged import pack
from unmask.errors import InputError
from unmask.explain.layer_words import layer_accuracy, layer_words
from unmask.explain.probe_examples import Probed, read_probed
from unmask.explain.probe_view import report_as_html
from unmask.explain.probing import control_task, divided, fitted, probe, states_of
from unmask.model.folder import save_model

WORDS = {"fox": "NN", "dog": "NN", "was": "VB", "go": "VB", "see": "VB", "lazy": "JJ", "quick": "JJ", "the": "DT"}


def tagged_file(folder: Path, sentences: int = 60) -> Path:
    """Random words, each with its own tag, and an entity tag after it."""
    chance, lines = np.random.default_rng(0), []
    for _ in range(sentences):
        for word in chance.choice(list(WORDS), int(chance.integers(3, 12))):
            lines.append(f"{word} {WORDS[str(word)]} {'I-PER' if word in ('fox', 'dog') else 'O'}")
        lines.append("")
    path = folder / "words.conll"
    path.write_text("\n".join(lines))
    return path


def test_a_file_gives_every_property(tmp_path: Path) -> None:
    path = tagged_file(tmp_path)
    pos, entity, length, word = (read_probed(path, name) for name in ("pos", "entity", "length", "word"))
    first = path.read_text().split("\n\n")[0].splitlines()
    assert pos.labels[0] == tuple(line.split()[1] for line in first)
    assert set(entity.labels[0]) <= {"PER", "O"}
    assert word.labels[0] == tuple(line.split()[0] for line in first)
    assert all(len(labels) == 1 for labels in length.labels)
    assert 2 <= len({label for labels in length.labels for label in labels}) <= 5


def test_json_lines_have_their_tags_under_a_name(tmp_path: Path) -> None:
    path = tmp_path / "words.jsonl"
    path.write_text(json.dumps({"tokens": ["the", "fox"], "upos": ["DET", "NOUN"]}) + "\n")
    assert read_probed(path, "pos", column="upos").labels == (("DET", "NOUN"),)
    with pytest.raises(InputError, match="lists 'tokens' and 'pos'"):
        read_probed(path, "pos")


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"line 1: 3 columns .* column 7"):
        read_probed(tagged_file(tmp_path), "pos", column="7")


def test_states_are_those_of_each_words_first_piece(tmp_path: Path) -> None:
    opened = small_model("classes")
    probed = read_probed(tagged_file(tmp_path, 5), "pos")
    states = states_of(opened, probed, [2, 0])
    ids = opened.tokenizer.encode(probed.sentences[2].text).ids
    with torch.inference_mode():
        layers = opened.bert(pack([ids]), keep_layers=True).layers
    count = len(probed.labels[2])
    np.testing.assert_allclose(states.vectors[:count, 1], layers[1][1:-1], atol=1e-5)
    assert states.labels == (*probed.labels[2], *probed.labels[0])


def test_states_of_sentences_are_means(tmp_path: Path) -> None:
    opened = small_model("classes")
    probed = read_probed(tagged_file(tmp_path, 6), "length")
    states = states_of(opened, probed, [3, 1, 4])
    for place, number in enumerate([3, 1, 4]):
        ids = opened.tokenizer.encode(probed.sentences[number].text).ids
        with torch.inference_mode():
            expected = opened.bert(pack([ids]), keep_layers=True).layers[2].mean(0)
        np.testing.assert_allclose(states.vectors[place, 2], expected, atol=1e-5)


def test_a_property_of_words_is_found_at_the_embeddings_and_so_is_its_control(tmp_path: Path) -> None:
    report = probe(small_model("classes"), read_probed(tagged_file(tmp_path), "pos"))
    first = report.rows[0]
    assert first.accuracy == 1
    assert first.control == 1  # eight words are easily learned by heart: nothing is selective here
    assert first.selectivity == 0
    assert report.classes == 4
    assert len(report.rows) == 3
    assert 0.2 < report.majority < 0.6


def test_labels_by_chance_are_not_found() -> None:
    chance = np.random.default_rng(0)
    states = chance.normal(size=(300, 20)).astype(np.float32)
    labels = chance.choice(["a", "b"], 300).tolist()
    given = fitted(states[:200], labels[:200], states[200:])
    assert np.mean(np.array(given) == labels[200:]) < 0.65
    seen = fitted(states[:200], ["a" if row[0] > 0 else "b" for row in states[:200]], states[200:])
    assert np.mean([(one == "a") == (row[0] > 0) for one, row in zip(seen, states[200:], strict=True)]) > 0.9


def test_a_control_task_keeps_the_shares_of_labels() -> None:
    control = control_task(["a"] * 80 + ["b"] * 20)
    drawn = [control(f"word{number}") for number in range(2000)]
    assert drawn.count("a") == pytest.approx(1600, abs=4 * np.sqrt(2000 * 0.8 * 0.2))
    assert any(control_task(["a", "b"], seed=1)(word) != control_task(["a", "b"], seed=2)(word) for word in "uvwxyz")


def test_no_sentence_is_learned_and_measured(tmp_path: Path) -> None:
    learned, measured = divided(read_probed(tagged_file(tmp_path), "pos"), 200, seed=3)
    assert not set(learned) & set(measured)
    assert len(measured) < len(learned)


def test_one_class_is_refused() -> None:
    probed = Probed("pos", (TaggedExample("fox", ((0, 3),)),) * 8, (("NN",),) * 8)
    with pytest.raises(InputError, match="at least two classes"):
        probe(small_model("classes"), probed)


def test_the_last_layer_says_what_the_model_says() -> None:
    opened = small_model("pretraining")
    (found,) = layer_words(opened, "the [MASK] was lazy", top=3)
    ids = opened.tokenizer.encode("the [MASK] was lazy").ids
    with torch.inference_mode():
        logits = opened.model(pack([ids]))[0][2]
    expected = torch.softmax(logits, -1).topk(3)
    assert [token for token, _ in found.rows[-1].candidates] == [opened.tokenizer.pieces[id] for id in expected.indices]
    np.testing.assert_allclose([p for _, p in found.rows[-1].candidates], expected.values, atol=1e-5)
    assert found.rows[-1].rank == 1
    assert (found.start, found.end) == (4, 10)
    assert [row.layer for row in found.rows] == [0, 1, 2]


def test_layers_find_hidden_words_as_often_as_they_put_them_first() -> None:
    opened = small_model("masked_words")
    rows = layer_accuracy(opened, ["the quick fox was lazy", "nobody had hoped for it", "they go"], seed=1)
    assert [row.layer for row in rows] == [0, 1, 2]
    assert all(0 <= row.accuracy <= 1 and row.log_probability < 0 for row in rows)


def test_a_model_without_masked_words_is_refused() -> None:
    with pytest.raises(InputError, match="without a masked-word head"):
        layer_words(small_model("classes"), "the [MASK]")


def test_the_command_writes_rows_a_picture_and_a_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    opened, folder = small_model("pretraining"), tmp_path / "model"
    save_model(folder, opened.config, opened.model, opened.tokenizer, opened.about)
    page, drawn = tmp_path / "page.html", tmp_path / "layers.svg"
    arguments = [str(folder), "the [MASK] <b>", "--data", str(tagged_file(tmp_path)), "--property", "pos,length,masked"]
    monkeypatch.setattr(
        "sys.argv", ["unmask", "probe", *arguments, "--html", str(page), "--picture", str(drawn), "--json", "--quiet"]
    )
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert not ended.value.code
    told = json.loads(capsys.readouterr().out)
    assert [report["property"] for report in told["probes"]] == ["pos", "length"]
    assert [row["layer"] for row in told["masked"]] == [0, 1, 2]
    assert told["masks"][0]["rows"][2]["rank"] == 1
    assert "<b>" not in page.read_text()
    assert drawn.read_text().startswith("<?xml")


def test_a_page_says_which_question_was_asked(tmp_path: Path) -> None:
    report = probe(small_model("classes"), read_probed(tagged_file(tmp_path), "word"), most=150)
    page = report_as_html(report)
    assert "Which word is this?" in page
    assert page.count("<circle") == 3  # no control: it would be the same question
    assert report.rows[0].control is None
