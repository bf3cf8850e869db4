"""Fine-tuning as scikit-learn has it: `Classifier`, `Regressor`, `Tagger`, `Answerer` and `Embedder`.

Texts (or pairs of texts) and what is to be said of them in, a fitted estimator out, which works in `Pipeline`,
`GridSearchCV` and `cross_val_score`. Constructors only store; what `fit` learned ends with an underscore.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    RegressorMixin,
    TransformerMixin,
)
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from unmask.apps.inputs import Refused, as_list, check_lengths, labelled_texts, questions, sentences, texts, typed
from unmask.apps.learning import Learned, as_embedder, class_names, learn, open_learned, rescale
from unmask.decode.embeddings import Embedded
from unmask.decode.tags import detect_scheme
from unmask.errors import InputError
from unmask.model.folder import open_model
from unmask.tasks.answering import Answering
from unmask.tasks.classification import Classification
from unmask.tasks.embedding import TextEmbedding
from unmask.tasks.finetuning import FineTuningSettings
from unmask.tasks.regression import Regression
from unmask.tasks.tagging import Tagging
from unmask.tasks.task import Task
from unmask.training.half_precision import settled_precision

LABEL_TYPE = "label_type"  # of a classifier's classes, in what its folder says of where it comes from


class _Estimator(BaseEstimator):  # type: ignore[misc]
    """What all five have in common: how a model learns, and where it goes."""

    kind: ClassVar[type[Task]]

    def __init__(
        self,
        model: str | Path = "default",  # to start from: a folder or a name
        *,
        epochs: float = 3.0,
        batch_size: int = 32,
        learning_rate: float | None = None,  # at its peak; what fits the model's width if none
        dropout: float = 0.1,
        length: int | None = None,  # pieces that are read at once; as usual for the task if none
        validation: float = 0.0,  # share of the examples set aside to choose the best epoch and to calibrate
        seed: int = 0,
        device: str = "cpu",
        precision: str = "auto",  # of products while it learns: what this CPU is faster in, or float32 or bfloat16
    ) -> None:
        self.model, self.epochs, self.batch_size, self.learning_rate = model, epochs, batch_size, learning_rate
        self.dropout, self.length, self.validation, self.seed, self.device = dropout, length, validation, seed, device
        self.precision = precision

    def save(self, folder: str | Path) -> None:
        """Writes the fitted model as a folder that `load`, `unmask predict` and transformers open."""
        self._fitted().save(Path(folder), self._provenance())

    @classmethod
    def load(cls, folder: str | Path, **parameters: Any) -> Self:
        """An estimator fitted before, or a model that `unmask finetune` made; `parameters` are the constructor's."""
        estimator = cls(folder, **parameters)
        estimator.model_, about = open_learned(folder, cls.kind, device=estimator.device)
        estimator._take_up(about.provenance)
        return estimator

    def __sklearn_tags__(self) -> Any:
        """A one-dimensional array of texts is what it takes."""
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        tags.no_validation = True
        return tags

    def _learn(self, examples: Sequence[Any], **options: Any) -> Learned:
        asked: dict[str, Any] = {
            "options": {**self._options(), **options},
            "learning_rate": self.learning_rate,
            "validation": self.validation,
            "device": self.device,
        }
        try:
            settings = FineTuningSettings(
                epochs=self.epochs,
                batch_size=self.batch_size,
                dropout=self.dropout,
                precision=settled_precision(self.precision, self.device),
                seed=self.seed,
            )
            return learn(self.kind, examples, model=self.model, settings=settings, **asked)
        except InputError as error:
            raise Refused(error.got, wanted=error.wanted, do=error.do) from None

    def _options(self) -> dict[str, Any]:
        """What the parameters say of the task itself."""
        said = {"longest": self.length, "long_text": getattr(self, "long_text", None)}
        return {name: value for name, value in said.items() if value is not None}

    def _fitted(self) -> Learned:
        check_is_fitted(self)
        learned: Learned = self.model_
        return learned

    def _provenance(self) -> dict[str, Any]:
        return {"start": str(self.model), "settings": {name: str(value) for name, value in self.get_params().items()}}

    def _take_up(self, provenance: Any) -> None:
        """What else is known once a model is loaded."""


class _TextEstimator(_Estimator):
    """One that reads texts or pairs, and so must be told what to do with long ones."""

    def __init__(
        self,
        model: str | Path = "default",
        *,
        epochs: float = 3.0,
        batch_size: int = 32,
        learning_rate: float | None = None,
        dropout: float = 0.1,
        length: int | None = None,
        long_text: str = "head",  # what is read of longer texts: head, tail, head+tail or windows
        validation: float = 0.0,
        seed: int = 0,
        device: str = "cpu",
        precision: str = "auto",
    ) -> None:
        super().__init__(
            model,
            epochs=epochs,
            batch_size=batch_size,
            learning_rate=learning_rate,
            dropout=dropout,
            length=length,
            validation=validation,
            seed=seed,
            device=device,
            precision=precision,
        )
        self.long_text = long_text


class Classifier(ClassifierMixin, _TextEstimator):  # type: ignore[misc]
    """Which class does a text, or a pair of texts, belong to?

    >>> Classifier("my-bert", epochs=4).get_params()["epochs"]
    4
    """

    kind = Classification

    def fit(self, X: Any, y: Any) -> Self:
        """Learns from texts (or pairs) and their classes."""
        given = check_lengths(as_list(X), y)
        check_classification_targets(given)
        self.classes_, numbers = np.unique(given, return_inverse=True)
        if len(self.classes_) < 2:
            raise Refused(f"the one class {self.classes_.tolist()}", wanted="examples of at least two classes")
        names = [str(name) for name in self.classes_.tolist()]
        self.model_ = self._learn(labelled_texts(X, [names[number] for number in numbers]), labels=tuple(names))
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """The likeliest class of each text."""
        probabilities = self.predict_proba(X)
        classes: NDArray[Any] = self.classes_[probabilities.argmax(1)]
        return classes

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """How likely each class is, in the order of `classes_`."""  # (N, classes)
        learned = self._fitted()
        answers = learned.answers(texts(X))
        found = [[answer.probabilities[name] for name in class_names(learned)] for answer in answers]
        return np.array(found, np.float64).reshape(len(answers), len(self.classes_))

    def _provenance(self) -> dict[str, Any]:
        return {**super()._provenance(), LABEL_TYPE: self.classes_.dtype.kind}

    def _take_up(self, provenance: Any) -> None:
        self.classes_ = typed(class_names(self.model_), provenance.get(LABEL_TYPE, "U"))


class Regressor(RegressorMixin, _TextEstimator):  # type: ignore[misc]
    """Which value has a text, or a pair of texts? Values may be of any size: they are learned by their deviations."""

    kind = Regression

    def fit(self, X: Any, y: Any) -> Self:
        """Learns from texts (or pairs) and their values."""
        given = np.asarray(check_lengths(as_list(X), y), np.float64)
        if not np.isfinite(given).all():
            raise Refused("values that are infinite or no numbers", wanted="finite values")
        mean, scale = float(given.mean()), float(given.std()) or 1.0
        learned = self._learn(labelled_texts(X, ((given - mean) / scale).tolist()))
        rescale(learned.model, mean, scale)
        self.model_ = learned
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """The value of each text."""
        return np.array([answer.value for answer in self._fitted().answers(texts(X))], np.float64)


class Tagger(_Estimator):
    """Which words belong to an entity? `X` has a list of words for each sentence, `y` a list of tags such as B-PER."""

    kind = Tagging

    def fit(self, X: Any, y: Any) -> Self:
        """Learns from sentences of words and their tags, in IOB1, IOB2 or BIOES; answers come in the same scheme."""
        tags = [tuple(map(str, as_list(row))) for row in check_lengths(as_list(X), y)]
        examples = sentences(X, tags)
        self.scheme_ = detect_scheme(tags)
        self.model_ = self._learn(examples)
        self._take_up({})
        return self

    def predict(self, X: Any) -> list[list[str]]:
        """The tags of each sentence's words."""
        answers = self._fitted().answers(sentences(X))
        return [answer.tags_in(self.scheme_) for answer in answers]

    def score(self, X: Any, y: Any) -> float:
        """F1 of the spans, by CoNLL's rules."""
        tags = [tuple(map(str, as_list(row))) for row in check_lengths(as_list(X), y)]
        return _score(self._fitted(), sentences(X, tags))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def _provenance(self) -> dict[str, Any]:
        return {**super()._provenance(), "scheme": self.scheme_}

    def _take_up(self, provenance: Any) -> None:
        self.scheme_ = provenance.get("scheme", getattr(self, "scheme_", self.model_.task.scheme))
        self.classes_ = np.array(self.model_.task.labels)


class Answerer(_Estimator):
    """Where in a context is the answer? `X` has (question, context), `y` the answer, (answer, start), or None."""

    kind = Answering

    def fit(self, X: Any, y: Any) -> Self:
        """Learns from questions on contexts; an answer without its start is the first of its kind in the context."""
        self.model_ = self._learn(questions(X, check_lengths(as_list(X), y)))
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """The answer to each question; none where the context does not say."""
        found = np.empty(len(as_list(X)), object)
        found[:] = [answer.answer for answer in self._fitted().answers(questions(X))]
        return found

    def score(self, X: Any, y: Any) -> float:
        """F1 of the answers' words, by the rules of SQuAD, or of CMRC where questions are Chinese."""
        return _score(self._fitted(), questions(X, check_lengths(as_list(X), y)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


class Embedder(ClassNamePrefixFeaturesOutMixin, TransformerMixin, _TextEstimator):  # type: ignore[misc]
    """Texts as vectors. Without `fit`, or fitted on single texts, it gives those of the model as it is.

    Fitted on pairs it learns: that pairs belong together, or, with `y`, how alike they are.
    """

    kind = TextEmbedding

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learns from pairs of texts; there is nothing to learn from single ones, whatever their `y`."""
        examples = texts(X)
        if examples[0].pair is None:
            self.model_ = self._as_it_is()
            return self
        values = None if y is None else np.asarray(check_lengths(examples, y), np.float64).tolist()
        self.model_ = self._learn(examples if values is None else labelled_texts(X, values))
        return self

    def transform(self, X: Any) -> NDArray[np.float32]:
        """The vector of each text."""  # (N, D)
        examples = texts(X)
        if any(example.pair is not None for example in examples):
            raise Refused("pairs of texts", wanted="single texts to give vectors of")
        learned: Learned = getattr(self, "model_", None) or self._as_it_is()
        answers: list[Embedded] = learned.answers(examples)
        return np.concatenate([answer.vectors for answer in answers])

    @property
    def _n_features_out(self) -> int:
        return self._fitted().config.width

    def _as_it_is(self) -> Learned:
        return as_embedder(open_model(self.model, device=self.device), self._options())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.transformer_tags.preserves_dtype = []
        return tags


def _score(learned: Learned, examples: Sequence[Any]) -> float:
    return float(learned.task.scores(examples, learned.answers(examples))[learned.task.metric])
