"""An encoder tuned on an FAQ: what it learns from, that it resumes, and that it is kept only where it helps."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from small_models import small_model

from tests.apps.word_vectors import WordVectors
from unmask.apps.faq import open_faq
from unmask.apps.faq_entries import Entry
from unmask.apps.faq_index import FaqIndex
from unmask.apps.faq_tuning import HeldOut, TuningRequest, hold_out, lessons, tune
from unmask.errors import InputError
from unmask.model.folder import open_model, save_model
from unmask.tasks.finetuning_run import FineTuningRun

FIRSTS, SECONDS = ("quick", "brown", "lazy", "nobody"), ("fox", "dog", "weather")
ENTRIES = tuple(
    Entry(
        f"the {one} {other} ?", f"{one} {other}", (f"what was a {one} {other}", f"see {other} {one}", f"{one} {other}")
    )
    for one in FIRSTS
    for other in SECONDS
)


def encoder(folder: Path) -> str:
    opened = small_model("embedding")
    save_model(folder, opened.config, opened.model, opened.tokenizer, opened.about)
    return str(folder)


def test_a_fifth_of_the_paraphrases_is_held_out_and_nothing_is_lost() -> None:
    held = hold_out(ENTRIES, seed=3)
    assert len(held.questions) == round(0.2 * 36)
    for question, owner in zip(held.questions, held.owners, strict=True):
        assert question in ENTRIES[owner].paraphrases
        assert question not in held.entries[owner].phrasings
    assert sum(len(entry.phrasings) for entry in held.entries) + len(held.questions) == 48
    assert held.right.sum(1).tolist() == [1] * len(held.questions)
    assert hold_out(ENTRIES, seed=3) == held


def test_a_lesson_has_the_nearest_wrong_entry_as_its_hard_negative() -> None:
    index = FaqIndex.of(ENTRIES, WordVectors())
    found = lessons(index)
    assert len(found) == 36
    for example in found:
        own = next(entry for entry in ENTRIES if entry.question == example.pair)
        assert example.text in own.paraphrases
        scores = index.by_entry(index.scores([example.text]))[0]
        wrong = max((score, entry.question) for score, entry in zip(scores, ENTRIES, strict=True) if entry is not own)
        assert example.negative == wrong[1]


def test_an_entry_without_paraphrases_is_drawn_to_its_answer() -> None:
    entries = [replace(entry, paraphrases=()) for entry in ENTRIES]
    found = lessons(FaqIndex.of(entries, WordVectors()))
    assert {(one.text, one.pair) for one in found} == {(entry.question, entry.answer) for entry in entries}
    assert all(one.negative in {entry.answer for entry in entries} - {one.pair} for one in found)


def test_a_long_answer_is_read_from_its_beginning(tmp_path: Path) -> None:
    entries = tuple(replace(entry, answer=f"{entry.answer} {'dog ' * 50}", paraphrases=()) for entry in ENTRIES)
    tuned = tune(TuningRequest(entries, encoder(tmp_path / "start"), tmp_path / "faq", steps=1))
    assert tuned.kept == "tuned"
    assert open_model(tmp_path / "faq" / "encoder").about.max_length == 40  # the model has no more positions


def test_tuning_gives_an_faq_that_opens_again_from_anywhere(tmp_path: Path) -> None:
    request = TuningRequest(
        ENTRIES,
        encoder(tmp_path / "start"),
        tmp_path / "faq",
        steps=6,
        changes={"learning_rate": 1e-3, "batch_size": 8},
    )
    tuned = tune(request)
    assert tuned.steps == 6
    assert tuned.before is not None
    assert tuned.after is not None
    assert tuned.before.questions == 7
    (tmp_path / "faq").rename(tmp_path / "moved")
    opened = open_faq(tmp_path / "moved")
    assert opened.index.phrasings == tuned.faq.index.phrasings
    assert opened.threshold == tuned.faq.threshold
    assert opened("what was a lazy dog").to_dict() == tuned.faq("what was a lazy dog").to_dict()
    better = tuned.after.mrr + (tuned.after.auroc or 0) >= tuned.before.mrr + (tuned.before.auroc or 0)
    assert tuned.kept == ("tuned" if better else "start")


def test_a_tuning_that_was_interrupted_goes_on_to_the_same_weights(tmp_path: Path) -> None:
    start, changes = encoder(tmp_path / "start"), {"learning_rate": 1e-3, "batch_size": 8}
    whole = TuningRequest(ENTRIES, start, tmp_path / "whole", steps=4, changes=changes)
    tune(whole)
    broken = replace(whole, folder=tmp_path / "broken")

    def stop_at_two(run: FineTuningRun) -> None:
        run.train(stop=lambda: run.tuning.run.step >= 2)

    with pytest.raises(KeyboardInterrupt):
        tune(broken, train=stop_at_two)  # type: ignore[arg-type]
    assert open_faq(tmp_path / "broken")("what was a lazy dog").candidates  # it answers all the while
    tune(broken)
    weights = [(tmp_path / name / "encoder" / "model.safetensors").read_bytes() for name in ("whole", "broken")]
    assert weights[0] == weights[1]


def test_without_paraphrases_it_says_that_nothing_was_measured(tmp_path: Path) -> None:
    entries = tuple(replace(entry, paraphrases=()) for entry in ENTRIES)
    said: list[str] = []
    tuned = tune(TuningRequest(entries, encoder(tmp_path / "start"), tmp_path / "faq", steps=2), note=said.append)
    assert (tuned.before, tuned.after, tuned.kept) == (None, None, "tuned")
    assert "no paraphrases to hold out: nothing tells whether tuning helped" in said


def test_a_handful_of_entries_cannot_be_tuned_on(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="an FAQ of 3 answers; wanted at least 8"):
        tune(TuningRequest(ENTRIES[:3], "default", tmp_path))


def test_held_out_questions_may_be_none() -> None:
    assert HeldOut(ENTRIES, (), ()).right.shape == (0, len(ENTRIES))
    assert np.array_equal(hold_out(ENTRIES[:1]).right, [[True]])
