"""Classes with confidence, and sentiment: what is neutral, what is too close to call, which words carried it."""

from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from unmask.apps.classify import Classify, Judged
from unmask.apps.predict import Predictor
from unmask.apps.refusing import Refused
from unmask.apps.sentiment import Sentiment, sides_in_words, sides_of
from unmask.data.ragged import Ragged
from unmask.errors import InputError
from unmask.model.about import About
from unmask.model.bert import Bert
from unmask.model.config import BertConfig
from unmask.model.folder import ModelFolder, save_model
from unmask.model.heads import BertWithHead, make_head
from unmask.model.names import LoadReport
from unmask.text.tokenizer import Tokenizer
from unmask.text.vocabulary import SPECIAL_PIECES

TOKENIZER = Tokenizer([*SPECIAL_PIECES, "good", "bad", "fine", "lamp", ".", "好", "坏"])
LIKED = {"good": 3.0, "好": 3.0, "bad": -3.0, "坏": -3.0, "fine": 0.7}
CONFIG = BertConfig(vocabulary_size=TOKENIZER.size, width=8, layers=1, heads=2, feed_forward=8, positions=32)


class Counting(BertWithHead):
    """Adds up the words that it likes: the logit of positive; negative has 0, neutral (if there is one) 1."""

    outputs = 2

    def forward(self, batch: Ragged, **_: Any) -> Any:
        liked = torch.tensor([LIKED.get(piece, 0.0) for piece in TOKENIZER.pieces])
        rows = torch.repeat_interleave(torch.arange(len(batch.lengths)), torch.from_numpy(batch.lengths))
        ids = torch.from_numpy(batch.ids)
        sums = torch.zeros(len(batch.lengths)).index_add(0, rows, liked[ids])
        logits = [torch.zeros_like(sums), sums, torch.ones_like(sums)]
        return torch.stack(logits[: self.outputs], 1)


def opened(*labels: str, **about: Any) -> ModelFolder:
    head = make_head("classes", CONFIG, outputs=len(labels))
    model = Counting(Bert(CONFIG), head).eval()
    model.outputs = len(labels)
    assert isinstance(model, nn.Module)
    return ModelFolder(CONFIG, model, TOKENIZER, About("classes", labels=labels, **about), LoadReport())


def label_of(feel: Sentiment, text: str, **options: Any) -> str | None:
    label: str | None = feel(text, **options).to_dict()["label"]
    return label


@pytest.mark.parametrize("labels", [("negative", "positive"), ("0", "1"), ("负面", "正面"), ("NEG", "Pos")])
def test_sides_are_known_by_their_labels(labels: tuple[str, str]) -> None:
    feel = Sentiment(opened(*labels))
    assert (label_of(feel, "good"), label_of(feel, "坏")) == ("positive", "negative")
    assert list(feel("good").to_dict()["probabilities"]) == ["negative", "positive"]


def test_two_weak_sides_are_neutral() -> None:
    feel = Sentiment(opened("negative", "positive"))
    assert label_of(feel, "lamp") == "neutral"
    assert label_of(feel, "fine") == "neutral"  # sigmoid(0.7) = 0.668
    assert label_of(feel, "fine fine") == "positive"  # sigmoid(1.4) = 0.802
    assert label_of(Sentiment(opened("negative", "positive"), neutral_below=0.0), "fine") == "positive"


def test_a_model_of_three_classes_says_itself_what_is_neutral() -> None:
    feel = Sentiment(opened("negative", "positive", "neutral"))
    assert (label_of(feel, "lamp"), label_of(feel, "good"), label_of(feel, "bad")) == ("neutral", "positive", "neutral")
    assert sum(feel("lamp").to_dict()["probabilities"].values()) == pytest.approx(1)


def test_numbers_around_nought_are_signs() -> None:
    assert sides_of(("-1", "0", "1")) == {"-1": "negative", "0": "neutral", "1": "positive"}


@pytest.mark.parametrize("labels", [("LABEL_0", "LABEL_1"), ("sports", "news"), ("0", "1", "2"), ("1", "positive")])
def test_labels_of_anything_else_are_refused(labels: tuple[str, ...]) -> None:
    with pytest.raises(InputError, match=rf"labels {', '.join(labels)}; wanted positive and negative"):
        sides_of(labels)


def test_only_labels_in_words_are_taken_for_feelings_unasked() -> None:
    assert sides_in_words(("负面", "正面")) == {"负面": "negative", "正面": "positive"}
    for labels in (("0", "1"), ("-1", "0", "1"), ("bad", "fair", "good")):
        assert sides_in_words(labels) is None


def test_below_the_threshold_nothing_is_said() -> None:
    feel = Sentiment(opened("negative", "positive"), abstain_below=0.6)
    told = feel("lamp").to_dict()
    assert (told["label"], told["abstained"], told["confidence"]) == (None, True, 0.5)
    assert (label_of(feel, "fine"), label_of(feel, "good")) == ("neutral", "positive")


@given(st.floats(0, 1))
def test_who_is_less_sure_never_answers_first(limit: float) -> None:
    judge = Classify(Predictor.of_model(opened("bad", "good")), abstain_below=limit)
    answered = [judge(text).label is not None for text in ("lamp", "fine", "good")]
    assert answered == sorted(answered)


def test_confidence_is_calibrated_by_the_folders_temperature() -> None:
    cool = Sentiment(opened("negative", "positive", thresholds={"temperature": 3.0}))
    assert cool("good").confidence == pytest.approx(0.7311, abs=1e-4)  # sigmoid(3 / 3)
    assert Sentiment(opened("negative", "positive"))("good").confidence == pytest.approx(0.9526, abs=1e-4)


def test_a_bad_text_spares_the_others() -> None:
    nul, well = Sentiment(opened("negative", "positive")).many(["a\0b", "good"])
    assert isinstance(nul, Refused)
    assert isinstance(well, Judged)
    with pytest.raises(InputError, match="NUL"):
        Sentiment(opened("negative", "positive"))("a\0b")


def test_classes_of_any_name_are_judged() -> None:
    judge = Classify(Predictor.of_model(opened("cold", "warm")), abstain_below=0.6)
    assert judge("good").label == "warm"
    assert judge("good").confidence == pytest.approx(0.9526, abs=1e-4)
    assert judge("lamp").to_dict()["abstained"]


@pytest.mark.parametrize(("head", "more"), [("regression", {}), ("classes", {"multi_label": True})])
def test_models_of_something_else_are_refused(head: str, more: dict[str, Any]) -> None:
    folder = opened("negative", "positive", **more)
    about = About(head, labels=folder.about.labels, **more)
    with pytest.raises(InputError, match="wanted one that gives each text one class"):
        Sentiment(ModelFolder(CONFIG, folder.model, TOKENIZER, about, LoadReport()))


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "feeling"
    config = BertConfig(
        vocabulary_size=TOKENIZER.size,
        width=16,
        layers=1,
        heads=2,
        feed_forward=16,
        positions=32,
        initial_deviation=0.3,
    )
    model = BertWithHead(Bert(config, seed=1), make_head("classes", config, outputs=2, seed=2))
    save_model(folder, config, model, TOKENIZER, About("classes", labels=("negative", "positive")))
    return folder


def test_the_words_that_carried_it_point_into_the_text(real: Path) -> None:
    text = "Good lamp. 好 bad fine fine lamp"
    told = Sentiment.open(real)(text, words=True).to_dict()
    assert 0 < len(told["words"]) <= 5
    assert all(text[word["start"] : word["end"]] == word["text"] != "." for word in told["words"])
    strengths = [abs(word["score"]) for word in told["words"]]
    assert strengths == sorted(strengths, reverse=True)
    assert "words" not in Sentiment.open(real)(text).to_dict()


def test_a_text_without_a_word_has_no_words_and_spares_the_others(real: Path) -> None:
    marks, well = Sentiment.open(real).many(["?!", "good lamp"], words=True)
    assert [len(one.to_dict()["words"]) for one in (marks, well)] == [0, 2]


@pytest.mark.parametrize("empty", ["", " \t\n"])
def test_an_empty_text_has_no_class_and_spares_the_others(empty: str) -> None:
    nothing, well = Sentiment(opened("negative", "positive")).many([empty, "good"])
    assert nothing == Refused("got an empty text; wanted a text in words")
    assert isinstance(well, Judged)
    with pytest.raises(InputError, match="an empty text; wanted a text in words"):
        Classify(Predictor.of_model(opened("cold", "warm")))(empty)


def test_classes_of_any_name_show_their_words_too_in_either_text_of_a_pair(real: Path) -> None:
    texts = ("Good lamp.", "bad 好 fine")
    told = Classify.open(real)(*texts, words=True).to_dict()
    assert {word["part"] for word in told["words"]} == {0, 1}
    assert all(texts[word["part"]][word["start"] : word["end"]] == word["text"] for word in told["words"])


def test_a_model_that_is_not_installed_is_named() -> None:
    with pytest.raises(InputError, match="no-such-model"):
        Sentiment.open("no-such-model")
