"""How good an FAQ is: scores of entries for questions in; P@1, MRR, how well it knows what it does not know, and the
threshold below which it had better not answer, out.

Questions without an answer are made from those that have one: the answer is left out, and what is best then is wrong.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unmask.apps.faq_entries import Entry, plain
from unmask.apps.faq_index import NOTHING, FaqIndex
from unmask.data.chance import generator
from unmask.decode.words import Floats

Flags = NDArray[np.bool_]

FEWEST = 20  # questions with an answer that a threshold may rest on
# Where there are fewer, it rests on questions without an answer: this share of each kind would be answered, and from
# there a tenth of the way to a perfect fit is left free (records faq, FAQs of 4 to 300 entries).
OWN_ANSWERED, STRANGE_ANSWERED, ABOVE = 0.25, 0.1, 0.1
MOST = 500  # questions that an FAQ is asked of itself
EVEN = 0.5  # the threshold of an FAQ that has nothing to learn one from


@dataclass(frozen=True, eq=False)
class Judged:
    """What came of questions."""

    right: Flags  # (Q,) the best entry is right
    ranks: Floats  # (Q,) wrong entries before the first right one
    best: Floats  # (Q,) the score of the best
    without: Floats  # the best scores where no right entry is there
    strange: Floats = field(default_factory=lambda: np.zeros(0))  # the best scores of questions to strangers, if asked

    def scores(self, threshold: float) -> "FaqScores":
        """The figures of an FAQ that answers from the threshold on."""
        answered = self.best >= threshold
        return FaqScores(
            questions=len(self.right),
            unanswerable=len(self.without),
            p_at_1=_mean(self.right),
            mrr=_mean(1 / (1 + self.ranks)),
            auroc=auroc(self.best, self.without),
            threshold=round(float(threshold), 4),
            answered=_mean(answered),
            answered_right=_mean(self.right[answered]),
            abstained=_mean(self.without < threshold),
        )


@dataclass(frozen=True)
class FaqScores:
    """The figures of an FAQ on questions."""

    questions: int
    unanswerable: int  # questions, most of them the same with their answer left out
    p_at_1: float  # the share whose first candidate is right
    mrr: float  # the mean of 1 / rank of the first right candidate
    auroc: float | None  # how often a question with an answer scores higher than one without
    threshold: float
    answered: float  # the share of questions with an answer that get one
    answered_right: float  # the share of those answers that are right
    abstained: float  # the share of questions without an answer that get none

    def to_dict(self) -> dict[str, Any]:
        """The figures as JSON has them."""
        return {name: round(value, 4) if isinstance(value, float) else value for name, value in asdict(self).items()}


def judge(scores: Floats, right: Flags) -> Judged:
    """Scores (Q, entries) and which entries are right; a question without a right one counts as unanswerable.

    >>> found = judge(np.array([[0.9, 0.2], [0.4, 0.5], [0.3, 0.1]]), np.array([[1, 0], [1, 0], [0, 0]], dtype=bool))
    >>> found.right.tolist(), found.ranks.tolist(), found.without.tolist()
    ([True, False], [0.0, 1.0], [0.2, 0.5, 0.3])
    """
    known = right.any(1)
    own = np.where(right, scores, -np.inf).max(1, initial=-np.inf)
    others = np.where(right, NOTHING, scores)
    ranks = (others > own[:, None]).sum(1)[known].astype(np.float64)
    return Judged(ranks == 0, ranks, scores.max(1)[known], others.max(1))


def auroc(answerable: Floats, unanswerable: Floats) -> float | None:
    """The area under the ROC curve; none where one kind of questions is missing.

    >>> auroc(np.array([0.9, 0.4]), np.array([0.5, 0.1]))
    0.75
    """
    if not len(answerable) or not len(unanswerable):
        return None
    from sklearn.metrics import roc_auc_score

    known = np.repeat([1, 0], [len(answerable), len(unanswerable)])
    return float(roc_auc_score(known, np.concatenate([answerable, unanswerable])))


def choose_threshold(judged: Judged) -> float:
    """Where right answers given and wrong ones withheld are most, both kinds of questions counting alike.

    With few questions that have an answer it lies above most of those that have none.

    >>> scores, right = np.array([[0.9, 0.2], [0.8, 0.3]] * 10), np.array([[1, 0], [1, 0]] * 10, dtype=bool)
    >>> round(choose_threshold(judge(scores, right)), 3)
    0.55
    """
    without = judged.without[judged.without > NOTHING]
    if len(judged.right) < FEWEST or not len(without):
        return _above([(without, OWN_ANSWERED), (judged.strange, STRANGE_ANSWERED)])
    cuts = np.unique(np.concatenate([judged.best, without]))
    cuts = np.concatenate([cuts[:1], (cuts[1:] + cuts[:-1]) / 2, cuts[-1:] + 1e-6])
    given = np.array([(judged.right & (judged.best >= cut)).mean() for cut in cuts])
    withheld = np.array([(without < cut).mean() for cut in cuts])
    return float(cuts[int((given + withheld).argmax())])


def _above(groups: Sequence[tuple[Floats, float]]) -> float:
    """A threshold that questions without an answer hardly reach: of each group its share would, but for a distance."""
    quantiles = [float(np.quantile(scores, 1 - share)) for scores, share in groups if len(scores)]
    return max(quantiles) + ABOVE * (1 - max(quantiles)) if quantiles else EVEN


def ask_itself(index: FaqIndex, *, seed: int = 0) -> tuple[list[str], Floats, Flags]:
    """The FAQ's own phrasings as questions, each in turn taken out of the index: questions, scores, what is right.

    The same words under another entry are taken out with it. A question that was the only way to ask has no answer
    then.
    """
    chosen = np.sort(generator(seed).permutation(len(index.phrasings))[:MOST])
    questions = [index.phrasings[place] for place in chosen]
    scores = index.scores(questions, index.vectors[chosen])
    numbers: dict[str, int] = {}
    words = np.array([numbers.setdefault(plain(phrasing), len(numbers)) for phrasing in index.phrasings])
    taken = words[chosen][:, None] == words
    scores[taken] = NOTHING
    asked = index.by_entry(taken.astype(scores.dtype)) > 0
    return questions, scores, asked & (index.by_entry(scores) > NOTHING)


def right_entries(entries: Sequence[Entry], answers: Sequence[str]) -> Flags:
    """Which entries give each question's answer; an empty one is given by none.

    >>> right_entries([Entry("Free?", "Yes."), Entry("Where?", "Here.")], ["yes.", "", "Never."]).tolist()
    [[True, False], [False, False], [False, False]]
    """  # (Q, entries)
    places: dict[str, list[int]] = {}
    for place, entry in enumerate(entries):
        places.setdefault(plain(entry.answer), []).append(place)
    right = np.zeros((len(answers), len(entries)), bool)
    for number, answer in enumerate(answers):
        right[number, places.get(plain(answer), [])] = True
    return right


def _mean(values: NDArray[Any]) -> float:
    return float(values.mean()) if len(values) else 0.0
