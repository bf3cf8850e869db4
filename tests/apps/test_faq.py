"""An FAQ answers what it knows, says what it does not, is the same after it was saved, and is measured truly."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score
from small_models import small_model

from tests.apps.word_vectors import WordVectors
from unmask.apps.faq import Faq, FaqAnswer, open_faq
from unmask.apps.faq_entries import Entry
from unmask.apps.faq_index import NOTHING, FaqIndex
from unmask.apps.faq_measures import Judged, ask_itself, auroc, choose_threshold, judge, right_entries
from unmask.apps.not_knowing import STRANGERS
from unmask.apps.refusing import Refused
from unmask.apps.reranking import Reranker, like_label
from unmask.apps.vectors import TextVectors
from unmask.errors import InputError
from unmask.model.folder import save_model
from unmask.retrieve.overlap import shares

ENTRIES = (
    Entry("How do I pay the bill?", "By card.", ("Can I pay by card?", "ways to pay a bill")),
    Entry("When does the shop open?", "At nine.", ("opening hours of the shop",)),
    Entry("什么时候送货？", "明天。", ("哪天送货？",)),
    Entry("Who made the lamp?", "A smith."),
)


@pytest.fixture
def faq() -> Faq:
    return Faq.of(FaqIndex.of(ENTRIES, WordVectors()))


def test_a_question_finds_its_answer(faq: Faq) -> None:
    for asked, answer in (("pay the bill by card?", "By card."), ("哪天送货", "明天。"), ("who made it", "A smith.")):
        assert faq(asked).candidates[0].answer == answer
        assert faq(asked).answer in (answer, None)
    assert faq("How do I pay the bill?").answer == "By card."


def test_a_foreign_question_gets_no_answer_but_the_closest_questions(faq: Faq) -> None:
    found = faq("my tailor is rich", top=2)
    assert found.answer is None
    assert len(found.candidates) == 2
    assert found.score == found.candidates[0].score < faq.threshold


def test_scores_of_entries_are_the_best_of_their_phrasings(faq: Faq) -> None:
    index, question = faq.index, "can the bill of the shop open?"
    cosines = index.space.encoder([question]) @ index.vectors.T
    expected = 0.8 * cosines[0] + 0.2 * shares(index.lexical, question)
    np.testing.assert_allclose(index.scores([question])[0], expected, atol=1e-6)
    best = [max(expected[index.owners == entry]) for entry in range(len(ENTRIES))]
    np.testing.assert_allclose(index.by_entry(index.scores([question]))[0], best, atol=1e-6)


def test_a_bad_question_spares_the_others(faq: Faq) -> None:
    many = faq.many(["How do I pay the bill?", "  ", "a\0b", "Who made the lamp?"])
    assert [type(found) for found in many] == [FaqAnswer, Refused, Refused, FaqAnswer]
    assert many[0].to_dict() == faq("How do I pay the bill?").to_dict()
    with pytest.raises(InputError, match=r"^got an empty question; wanted a question in words$"):
        faq(" ")


def test_batch_mates_do_not_change_an_answer(faq: Faq) -> None:
    asked = [f"{entry.question} {number}" for number in range(30) for entry in ENTRIES]
    together = faq.many(asked)
    alone = [faq(question) for question in asked]
    assert [one.candidates[0].answer for one in together] == [one.candidates[0].answer for one in alone]
    np.testing.assert_allclose([one.score for one in together], [one.score for one in alone], atol=1e-5)


def small_encoder(folder: Path, head: str | None = "embedding") -> Path:
    opened = small_model(head)
    save_model(folder, opened.config, opened.model, opened.tokenizer, opened.about)
    return folder


def test_a_saved_faq_answers_the_same(tmp_path: Path) -> None:
    encoder = TextVectors(small_encoder(tmp_path / "encoder"))
    made = Faq.of(FaqIndex.of(ENTRIES, encoder))
    made.save(tmp_path / "faq")
    opened = open_faq(tmp_path / "faq")
    for question in ("how to pay", "什么时候", "the lazy dog"):
        assert opened(question).to_dict() == made(question).to_dict()
    assert (opened.threshold, opened.scores.threshold) == (made.threshold, round(made.threshold, 4))


def test_an_untaught_encoder_is_whitened_and_the_whitening_is_kept(tmp_path: Path) -> None:
    firsts, seconds = ("the", "quick", "brown", "fox", "dog"), ("was", "not", "what", "they", "had", "hoped", "for")
    entries = [Entry(f"{one} {other} ?", f"{one}{other}") for one in firsts for other in seconds]
    made = Faq.of(FaqIndex.of(entries, TextVectors(small_encoder(tmp_path / "encoder", None))))
    assert made.index.space.whitening is not None
    assert made.index.words > 0.2
    made.save(tmp_path / "faq")
    assert open_faq(tmp_path / "faq")("fox was lazy").to_dict() == made("fox was lazy").to_dict()


def test_an_encoder_that_changed_is_refused(tmp_path: Path) -> None:
    Faq.of(FaqIndex.of(ENTRIES, TextVectors(small_encoder(tmp_path / "encoder")))).save(tmp_path / "faq")
    small_encoder(tmp_path / "encoder", None)
    with pytest.raises(InputError, match="another version of the encoder"):
        open_faq(tmp_path / "faq")


def test_a_folder_of_something_else_or_a_damaged_one_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="wanted a folder of the application 'faq'"):
        open_faq(small_encoder(tmp_path / "encoder"))
    Faq.of(FaqIndex.of(ENTRIES, TextVectors(tmp_path / "encoder"))).save(tmp_path / "faq")
    for name in ("vectors.npy", "words.npz", "entries.jsonl"):
        kept = (tmp_path / "faq" / name).read_bytes()
        (tmp_path / "faq" / name).write_bytes(kept[:20])
        with pytest.raises(InputError, match=name):
            open_faq(tmp_path / "faq")
        (tmp_path / "faq" / name).write_bytes(kept)


@pytest.mark.parametrize("head", ["classes", "regression"])
def test_a_pair_model_orders_the_best_entries_again(head: str, tmp_path: Path) -> None:
    opened = small_model(head, task="classify" if head == "classes" else "regress")
    about = opened.about
    if head == "classes":
        about = type(about)(head, task="classify", labels=("0", "1", "2"))
    save_model(tmp_path / "pairs", opened.config, opened.model, opened.tokenizer, about)
    reranker = Reranker.open(tmp_path / "pairs")
    faq = Faq.of(FaqIndex.of(ENTRIES, WordVectors()), reranker)
    found = faq("the quick brown fox")
    ways = [faq.index.best_phrasing(faq.index.scores(["the quick brown fox"])[0], entry) for entry in range(4)]
    expected = reranker([("the quick brown fox", way) for way in ways])
    assert [one.question for one in found.candidates] == [ENTRIES[place].question for place in np.argsort(-expected)]
    np.testing.assert_allclose([one.score for one in found.candidates], sorted(expected, reverse=True), atol=1e-5)


def test_a_pair_model_must_say_what_is_alike(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="bad, good; wanted one that means alike: 1, yes"):
        like_label(["bad", "good"], "pairs")
    with pytest.raises(InputError, match="a model for 'embed'; wanted one that classifies pairs"):
        Reranker.open(small_encoder(tmp_path / "encoder"))


# ---- measures


def test_a_question_asked_of_its_own_faq_is_taken_out_everywhere() -> None:
    entries = (*ENTRIES, Entry("who made the LAMP?", "A fairy."))
    index = FaqIndex.of(entries, WordVectors())
    questions, scores, right = ask_itself(index)
    assert questions == list(index.phrasings)
    for place, question in enumerate(questions):
        others = [other != question and other.lower() != question.lower() for other in index.phrasings]
        assert ((scores[place] > NOTHING) == others).all()
        owner = index.owners[place]
        alone = owner >= 3
        assert right[place].tolist() == [entry == owner and not alone for entry in range(5)]


@given(
    scores=st.lists(st.lists(st.integers(0, 9), min_size=4, max_size=4), min_size=1, max_size=9),
    owner=st.integers(0, 3),
)
def test_ranks_and_left_out_answers_are_those_of_plain_counting(scores: list[list[int]], owner: int) -> None:
    table = np.array(scores) / 10
    right = np.zeros(table.shape, bool)
    right[1:, owner] = True  # the first question has no answer
    judged = judge(table, right)
    assert judged.ranks.tolist() == [sum(other > row[owner] for other in row) for row in table[1:]]
    assert judged.right.tolist() == [row[owner] == max(row) for row in table[1:]]
    expected = [max(table[0]), *(max(score for place, score in enumerate(row) if place != owner) for row in table[1:])]
    assert judged.without.tolist() == expected


@given(
    best=st.lists(st.integers(0, 99), min_size=20, max_size=30),
    out=st.lists(st.integers(0, 99), min_size=1, max_size=9),
)
def test_no_other_threshold_is_better(best: list[int], out: list[int]) -> None:
    answerable, without = np.array(best) / 100, np.array(out) / 100
    right = np.arange(len(best)) % 3 > 0
    judged = Judged(right, np.zeros(len(best)), answerable, without)

    def gain(threshold: float) -> float:
        return float((right & (answerable >= threshold)).mean() + (without < threshold).mean())

    found = gain(choose_threshold(judged))
    assert found >= max(gain(cut) for cut in np.arange(-0.005, 1.01, 0.005)) - 1e-9
    assert auroc(answerable, without) == pytest.approx(
        roc_auc_score([1] * len(best) + [0] * len(out), [*answerable, *without])
    )


def test_without_paraphrases_the_threshold_lies_above_most_questions_that_have_no_answer() -> None:
    without = np.linspace(0, 1, 101)
    judged = Judged(np.zeros(0, bool), np.zeros(0), np.zeros(0), without)
    assert choose_threshold(judged) == pytest.approx(0.75 + 0.1 * 0.25)
    assert choose_threshold(replace(judged, strange=without)) == pytest.approx(0.9 + 0.1 * 0.1)
    assert choose_threshold(replace(judged, without=np.zeros(0), strange=without / 2)) == pytest.approx(0.505)
    assert choose_threshold(replace(judged, without=np.zeros(0))) == 0.5  # nothing to learn it from
    assert judged.scores(0.75).auroc is None


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_small_faq_answers_few_strangers(language: str) -> None:
    entries = [Entry("How do I pay the bill?", "By card."), Entry("怎么退货？", "七天之内寄回。")]
    faq = Faq.of(FaqIndex.of(entries, TextVectors("default")))
    strangers = STRANGERS[language]
    assert sum(found.answer is not None for found in faq.many(strangers)) <= len(strangers) / 10
    assert faq("How can I pay my bill?").answer == "By card."
    assert faq("怎样退货？").answer == "七天之内寄回。"


def test_an_answer_may_stand_in_several_entries() -> None:
    entries = [Entry("a?", "Yes. "), Entry("b?", "no"), Entry("c?", "YES.")]
    assert right_entries(entries, ["yes.", "", "perhaps"]).tolist() == [[True, False, True], [False] * 3, [False] * 3]


def test_answers_are_json_as_the_contract_has_it(faq: Faq) -> None:
    told = json.loads(json.dumps(faq("How do I pay the bill?").to_dict()))
    assert list(told) == ["answer", "score", "candidates"]
    assert list(told["candidates"][0]) == ["question", "answer", "score"]
