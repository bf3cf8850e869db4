"""The scikit-learn estimators: they learn, answer after saving and pickling, and work where scikit-learn's own do."""

import pickle
import warnings
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError, SkipTestWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import estimator_checks as checks

from unmask import Answerer, Classifier, Embedder, InputError, Regressor, Tagger
from unmask.apps import estimators
from unmask.model.about import About
from unmask.model.bert import Bert
from unmask.model.config import BertConfig
from unmask.model.folder import open_model, save_model
from unmask.text.tokenizer import Tokenizer
from unmask.text.vocabulary import SPECIAL_PIECES

GOOD, BAD = ("good", "fine", "lovely", "bright"), ("bad", "dull", "awful", "dark")
NAMES, PLACES = ("ann", "bob", "eve"), ("rome", "oslo", "kyoto")
PIECES = [*SPECIAL_PIECES, *GOOD, *BAD, *NAMES, *PLACES, "the", "day", "was", "very", "saw", "who", "what", "?", "."]
CONFIG = BertConfig(
    vocabulary_size=len(PIECES), width=32, layers=1, heads=2, feed_forward=64, positions=32, initial_deviation=0.1
)
TEXTS = [f"the {a} was {b}" for a in ("day", *GOOD[:1]) for b in GOOD + BAD]
KINDS = ["good" if text.split()[-1] in GOOD else "bad" for text in TEXTS]
QUICK: dict[str, Any] = {"epochs": 15, "batch_size": 8, "learning_rate": 4e-3, "dropout": 0.0}
SENTENCES = [[name, "saw", place] for name in NAMES for place in PLACES]
TAGS = [["B-PER", "O", "B-LOC"]] * len(SENTENCES)
QUESTIONS = [
    (asked, f"{name} saw {place} .") for name, place in zip(NAMES, PLACES, strict=True) for asked in ("who ?", "what ?")
]
ANSWERS = [answer for pair in zip(NAMES, PLACES, strict=True) for answer in pair]


@pytest.fixture(scope="session")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("models") / "encoder"
    save_model(folder, CONFIG, Bert(CONFIG, 3), Tokenizer(PIECES), About())
    return str(folder)


@pytest.fixture(scope="session")
def classifier(encoder: str) -> Classifier:
    return Classifier(encoder, **QUICK).fit(TEXTS, KINDS)


def test_a_classifier_learns_and_keeps_its_classes(classifier: Classifier) -> None:
    assert classifier.classes_.tolist() == ["bad", "good"]
    assert classifier.score(TEXTS, KINDS) == 1.0
    probabilities = classifier.predict_proba(TEXTS)
    assert np.allclose(probabilities.sum(1), 1)
    assert (classifier.classes_[probabilities.argmax(1)] == classifier.predict(TEXTS)).all()


@pytest.mark.parametrize("way", [list, tuple, np.array, pd.Series, lambda t: np.array(t, dtype=object)])
def test_texts_come_in_any_sequence(classifier: Classifier, way: Any) -> None:
    assert (classifier.predict(way(TEXTS)) == classifier.predict(TEXTS)).all()


def test_many_texts_are_answered_by_the_other_engine_alike(
    classifier: Classifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = classifier.predict_proba(TEXTS)
    monkeypatch.setattr("unmask.compress.model_engine.ENOUGH", 1)
    np.testing.assert_allclose(classifier.predict_proba(TEXTS), few, atol=1e-5)


def test_pairs_come_as_tuples_arrays_or_tables(encoder: str) -> None:
    pairs = [(a, b) for a in GOOD + BAD for b in (GOOD[0], BAD[0])]
    same = [(a in GOOD) == (b in GOOD) for a, b in pairs]
    fitted = Classifier(encoder, **QUICK | {"epochs": 1}).fit(pairs, same)
    for table in (np.array(pairs), pd.DataFrame(pairs)):
        assert (fitted.predict_proba(table) == fitted.predict_proba(pairs)).all()
    assert fitted.predict(pairs).dtype == bool


def test_a_saved_and_a_pickled_estimator_answer_the_same(classifier: Classifier, tmp_path: Path) -> None:
    classifier.save(tmp_path / "saved")
    loaded = Classifier.load(tmp_path / "saved")
    pickled = pickle.loads(pickle.dumps(classifier))
    for other in (loaded, pickled):
        assert (other.predict_proba(TEXTS) == classifier.predict_proba(TEXTS)).all()
        assert other.classes_.tolist() == classifier.classes_.tolist()
    assert open_model(tmp_path / "saved").about.labels == ("bad", "good")
    with pytest.raises(InputError, match="a model for classify; wanted one for regress"):
        Regressor.load(tmp_path / "saved")


@pytest.mark.parametrize("kinds", [[0, 1], [2.0, 7.0], [False, True]])
def test_classes_keep_their_type_through_a_folder(encoder: str, tmp_path: Path, kinds: list[Any]) -> None:
    y = [kinds[kind == "good"] for kind in KINDS]
    Classifier(encoder, epochs=0.1).fit(TEXTS, y).save(tmp_path / "saved")
    assert Classifier.load(tmp_path / "saved").classes_.tolist() == kinds


def test_values_of_any_size_are_learned(encoder: str, tmp_path: Path) -> None:
    y = np.where(np.array(KINDS) == "good", 250_000.0, 180_000.0)
    fitted = Regressor(encoder, **QUICK | {"epochs": 40}).fit(TEXTS, y)
    assert fitted.score(TEXTS, y) > 0.9
    fitted.save(tmp_path / "saved")
    assert np.allclose(Regressor.load(tmp_path / "saved").predict(TEXTS), fitted.predict(TEXTS))


def test_a_tagger_answers_in_the_scheme_that_it_was_given(encoder: str, tmp_path: Path) -> None:
    tags = [["S-PER", "O", "S-LOC"]] * len(SENTENCES)
    fitted = Tagger(encoder, **QUICK).fit(SENTENCES, tags)
    assert fitted.score(SENTENCES, tags) == 1.0
    assert fitted.predict(SENTENCES) == tags
    fitted.save(tmp_path / "saved")
    assert Tagger.load(tmp_path / "saved").predict(SENTENCES) == tags


def test_an_answerer_finds_answers_in_contexts(encoder: str, tmp_path: Path) -> None:
    fitted = Answerer(encoder, **QUICK | {"epochs": 40}).fit(QUESTIONS, ANSWERS)
    assert fitted.predict(QUESTIONS).tolist() == ANSWERS
    assert (
        fitted.score(
            QUESTIONS,
            [(answer, context.index(answer)) for answer, (_, context) in zip(ANSWERS, QUESTIONS, strict=True)],
        )
        == 1.0
    )
    fitted.save(tmp_path / "saved")
    assert Answerer.load(tmp_path / "saved").predict(QUESTIONS).tolist() == ANSWERS


def test_an_embedder_needs_no_fit_and_learns_from_pairs(encoder: str, tmp_path: Path) -> None:
    plain = Embedder(encoder)
    before = plain.transform(TEXTS)
    assert before.shape == (len(TEXTS), CONFIG.width)
    assert (plain.fit(TEXTS, KINDS).transform(TEXTS) == before).all()
    assert len(plain.get_feature_names_out()) == CONFIG.width
    pairs = [(a, b) for words in (GOOD, BAD) for a, b in pairwise(words)]
    learned = Embedder(encoder, **QUICK | {"epochs": 2}).fit(pairs)
    assert not np.allclose(learned.transform(TEXTS), before)
    valued = Embedder(encoder, **QUICK | {"epochs": 1}).fit([*pairs, ("good", "bad")], [1.0] * len(pairs) + [0.0])
    valued.save(tmp_path / "saved")
    assert np.allclose(Embedder(str(tmp_path / "saved")).transform(TEXTS), valued.transform(TEXTS), atol=1e-6)


def test_they_work_in_pipelines_searches_and_cross_validation(encoder: str) -> None:
    lower = FunctionTransformer(lambda X: [text.lower() for text in X])
    pipeline = make_pipeline(lower, Classifier(encoder, **QUICK | {"epochs": 1}))
    search = GridSearchCV(pipeline, {"classifier__learning_rate": [1e-9, 4e-3]}, cv=2, error_score="raise")
    assert search.fit(TEXTS, KINDS).predict(["THE DAY WAS FINE"]).shape == (1,)
    assert cross_val_score(make_pipeline(Embedder(encoder), LogisticRegression()), TEXTS, KINDS, cv=2).shape == (2,)
    assert cross_val_score(Tagger(encoder, epochs=0.1), SENTENCES, TAGS, cv=2, error_score="raise").shape == (2,)
    assert cross_val_score(Answerer(encoder, epochs=0.1), QUESTIONS, ANSWERS, cv=2, error_score="raise").shape == (2,)


def test_validation_calibrates_and_a_seed_decides_everything(encoder: str) -> None:
    many, chance = TEXTS * 10, np.random.default_rng(1).choice(["bad", "good"], 10 * len(TEXTS))
    asked = Classifier(encoder, **QUICK | {"epochs": 0.2}, validation=0.5, seed=5)
    fitted = [clone(asked).fit(many, chance) for _ in range(2)]
    assert fitted[0].model_.task.thresholds["temperature"] != 1.0
    assert (fitted[0].predict_proba(TEXTS) == fitted[1].predict_proba(TEXTS)).all()


WRONG: dict[str, tuple[Any, Any, Any]] = {
    "one class": (Classifier, ["a", "b"], ["x", "x"]),
    "numbers": (Classifier, [1.0, 2.0], ["x", "y"]),
    "a single text": (Classifier, "a text", ["x"]),
    "other lengths": (Classifier, ["a", "b"], ["x"]),
    "no y": (Classifier, ["a"], None),
    "no texts": (Embedder, [], None),
    "not finite": (Regressor, ["a", "b"], [1.0, np.nan]),
    "a sentence": (Tagger, ["a b"], [["O", "O"]]),
    "nothing to tag": (Tagger, [["a"]], [["O"]]),
    "too long": (lambda model: Classifier(model, length=99), ["a", "b"], ["x", "y"]),
    "too few tags": (Tagger, [["a", "b"]], [["O"]]),
    "no context": (Answerer, ["who?"], ["ann"]),
    "an answer from elsewhere": (Answerer, [("who?", "ann")], ["bob"]),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_learned_from_is_a_value_error_in_our_words(encoder: str, case: str) -> None:
    estimator, X, y = WRONG[case]
    with pytest.raises(ValueError, match=r"got .*wanted") as raised:
        estimator(encoder).fit(X, y)
    assert isinstance(raised.value, InputError)


@pytest.mark.parametrize(
    ("asked", "able", "taken"), [("auto", True, "bfloat16"), ("auto", False, "float32"), ("float32", True, "float32")]
)
def test_products_are_in_what_the_machine_is_faster_in(
    encoder: str, monkeypatch: pytest.MonkeyPatch, asked: str, able: bool, taken: str
) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx512_bf16": able})
    settled: list[str] = []
    monkeypatch.setattr(estimators, "learn", lambda *_, settings, **__: settled.append(settings.precision))
    Classifier(encoder, precision=asked)._learn([])
    assert settled == [taken]


def test_unfitted_estimators_say_so(encoder: str) -> None:
    for estimator in (Classifier, Regressor, Tagger, Answerer):
        with pytest.raises(NotFittedError):
            estimator(encoder).predict([("a", "b")])


ALL = [Classifier, Regressor, Tagger, Answerer, Embedder]


@pytest.mark.parametrize("estimator", ALL)
def test_scikit_learn_finds_no_fault_with_parameters_and_tags(estimator: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkipTestWarning)  # it has no texts to check the rest with
        checks.check_estimator(estimator())
    for check in (
        checks.check_estimator_cloneable,
        checks.check_estimator_tags_renamed,
        checks.check_valid_tag_types,
        checks.check_estimator_repr,
        checks.check_no_attributes_set_in_init,
        checks.check_parameters_default_constructible,
        checks.check_get_params_invariance,
        checks.check_set_params,
    ):
        check(estimator.__name__, estimator())
    assert clone(estimator(epochs=7)).epochs == 7
