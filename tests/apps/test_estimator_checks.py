"""scikit-learn's whole `check_estimator` on our estimators, which then read texts that spell the checks' numbers.

`Tagger` and `Answerer` are not here: no check knows their `X` and `y`. How well one pass of a tiny model learns is not
checked either (the tag `poor_score`); that they learn is tested on texts, in test_estimators.py.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import validate_data

from unmask import Classifier, Embedder, Regressor
from unmask.model.about import About
from unmask.model.bert import Bert
from unmask.model.config import BertConfig
from unmask.model.folder import save_model
from unmask.model.named import NAMED
from unmask.text.tokenizer import Tokenizer
from unmask.text.vocabulary import SPECIAL_PIECES

LEVELS = "abcdefghijklmnopqrst"
PIECES = [*SPECIAL_PIECES, *LEVELS]
CONFIG = BertConfig(
    vocabulary_size=len(PIECES), width=16, layers=1, heads=2, feed_forward=16, positions=64, initial_deviation=0.2
)
QUICK: dict[str, Any] = {"epochs": 1, "batch_size": 64, "learning_rate": 1e-2, "dropout": 0.0}


def spelled(numbers: NDArray[Any]) -> list[str]:
    """Each row as a text, a letter for each number by its size."""
    levels = np.clip(np.floor(np.asarray(numbers, float) * 3) + 10, 0, len(LEVELS) - 1).astype(int)
    return [" ".join(LEVELS[level] for level in row) for row in levels]


class Spelling:
    """Numbers in place of texts; everything else is the estimator's own."""

    def fit(self, X: Any, y: Any = None) -> Any:
        if y is None:
            X = validate_data(self, X, reset=True)
        else:
            X, y = validate_data(self, X, y, reset=True, y_numeric=isinstance(self, Regressor))
        return super().fit(spelled(X), y)  # type: ignore[misc]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.string = tags.input_tags.one_d_array = tags.no_validation = False
        tags.input_tags.two_d_array = True
        for kind in filter(None, (tags.classifier_tags, tags.regressor_tags)):
            kind.poor_score = True
        return tags


class SpellingClassifier(Spelling, Classifier):
    def predict_proba(self, X: Any) -> Any:
        self._fitted()
        return super().predict_proba(spelled(validate_data(self, X, reset=False)))


class SpellingRegressor(Spelling, Regressor):
    def predict(self, X: Any) -> Any:
        self._fitted()
        return super().predict(spelled(validate_data(self, X, reset=False)))


class SpellingEmbedder(Spelling, Embedder):
    def transform(self, X: Any) -> Any:
        self._fitted()
        return super().transform(spelled(validate_data(self, X, reset=False)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = True
        return tags


@pytest.fixture(scope="module", autouse=True)
def tiny_default(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A tiny model by the name that estimators start from, so that the checks have the same names in every process."""
    folder = tmp_path_factory.mktemp("models") / "encoder"
    save_model(folder, CONFIG, Bert(CONFIG, 3), Tokenizer(PIECES), About())
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(NAMED, "default", lambda: folder)
        yield


ESTIMATORS = [kind(**QUICK) for kind in (SpellingClassifier, SpellingRegressor, SpellingEmbedder)]


@pytest.mark.slow
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learns_checks(estimator: Any, check: Any) -> None:
    check(estimator)
