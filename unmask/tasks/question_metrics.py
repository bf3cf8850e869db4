"""Exact match and F1 of answers to questions by the official scorers of SQuAD 1.1 and 2.0, as fractions.

In: for each question the texts of the answers that count as right (none: the context does not say) and the text that
was given (empty or none: no answer). Out: scores of each question, their means, and the best no-answer threshold.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from string import punctuation

Answers = Sequence[Sequence[str]]
Given = Sequence[str | None]

PUNCTUATION = str.maketrans("", "", punctuation)
ARTICLES = re.compile(r"\b(a|an|the)\b")


@dataclass(frozen=True)
class AnswerScores:
    """The scores of each question, in order."""

    exact: tuple[float, ...]
    f1: tuple[float, ...]

    def report(self) -> dict[str, float]:
        """Their means.

        >>> AnswerScores(exact=(1.0, 0.0), f1=(1.0, 0.5)).report()
        {'exact': 0.5, 'f1': 0.75, 'total': 2}
        """
        total = len(self.exact)
        # the scorers add up in order, which numpy's mean does not: the last digit depends on it
        return {"exact": sum(self.exact) / max(total, 1), "f1": sum(self.f1) / max(total, 1), "total": total}

    def part(self, chosen: Iterable[bool]) -> "AnswerScores":
        """The scores of some of the questions.

        >>> AnswerScores(exact=(1.0, 0.0), f1=(1.0, 0.5)).part([False, True])
        AnswerScores(exact=(0.0,), f1=(0.5,))
        """
        numbers = [number for number, choose in enumerate(chosen) if choose]
        return AnswerScores(
            exact=tuple(self.exact[number] for number in numbers), f1=tuple(self.f1[number] for number in numbers)
        )


def normalised(text: str) -> str:
    """Lower case without punctuation, articles and needless space: answers that differ in these are the same.

    >>> normalised("The  Beatles' (first) album!")
    'beatles first album'
    """
    return " ".join(ARTICLES.sub(" ", text.lower().translate(PUNCTUATION)).split())


def exact_match(answer: str, given: str) -> float:
    """Are two answers the same but for what normalisation takes away?

    >>> exact_match("The Moon", "moon."), exact_match("moon", "moons")
    (1.0, 0.0)
    """
    return float(normalised(answer) == normalised(given))


def word_f1(answer: str, given: str) -> float:
    """F1 of the words of two answers; nothing in common, even nothing at all, is 0 (SQuAD 1.1).

    >>> word_f1("the red moon", "red sun")
    0.5
    """
    wanted, words = normalised(answer).split(), normalised(given).split()
    common = sum((Counter(wanted) & Counter(words)).values())
    if not common:
        return 0.0
    precision, recall = common / len(words), common / len(wanted)
    return (2 * precision * recall) / (precision + recall)


def word_f1_or_nothing(answer: str, given: str) -> float:
    """F1 of the words of two answers; where one is empty, 1 if both are (SQuAD 2.0).

    >>> word_f1_or_nothing("", ""), word_f1_or_nothing("", "moon"), word_f1_or_nothing("the", "a")
    (1.0, 0.0, 1.0)
    """
    if not normalised(answer) or not normalised(given):
        return exact_match(answer, given)
    return word_f1(answer, given)


def best_over(metric: Callable[[str, str], float], answers: Sequence[str], given: str) -> float:
    """The score against the answer that fits best.

    >>> best_over(exact_match, ["sun", "the moon"], "moon")
    1.0
    """
    return max((metric(answer, given) for answer in answers), default=0.0)


def squad1_scores(expected: Answers, given: Given) -> AnswerScores:
    """Each question's scores by SQuAD 1.1; a question without an answer given scores 0.

    >>> squad1_scores([["the moon", "moon"], ["a red sun"]], ["Moon", "sun"]).report()["exact"]
    0.5
    """
    pairs = list(zip(expected, given, strict=True))
    return AnswerScores(
        exact=tuple(0.0 if text is None else best_over(exact_match, answers, text) for answers, text in pairs),
        f1=tuple(0.0 if text is None else best_over(word_f1, answers, text) for answers, text in pairs),
    )


def squad2_scores(expected: Answers, given: Given) -> AnswerScores:
    """Each question's scores by SQuAD 2.0, where no answer is right if the context does not say.

    >>> squad2_scores([["moon"], []], ["the moon", None])
    AnswerScores(exact=(1.0, 1.0), f1=(1.0, 1.0))
    """
    right = [[answer for answer in answers if normalised(answer)] or [""] for answers in expected]
    pairs = [(answers, text or "") for answers, text in zip(right, given, strict=True)]
    return AnswerScores(
        exact=tuple(best_over(exact_match, answers, text) for answers, text in pairs),
        f1=tuple(best_over(word_f1_or_nothing, answers, text) for answers, text in pairs),
    )


def squad2_report(
    expected: Answers, given: Given, no_answer: Sequence[float] | None = None, *, threshold: float = 1.0
) -> dict[str, float]:
    """All that SQuAD 2.0's scorer says: over all, with and without an answer, and at the best thresholds.

    `no_answer` is how likely it is that there is none; above the threshold that is the answer.

    >>> report = squad2_report([["moon"], []], ["moon", "sun"], [0.1, 0.9])
    >>> report["exact"], report["no_answer_exact"], report["best_exact"], report["best_exact_threshold"]
    (0.5, 0.0, 1.0, 0.1)
    """
    has_answer = [bool(answers) for answers in expected]
    raw = squad2_scores(expected, given)
    scores = raw if no_answer is None else _with_threshold(raw, has_answer, no_answer, threshold)
    report = scores.report()
    for name, part in (("has_answer", has_answer), ("no_answer", [not has for has in has_answer])):
        if any(part):
            report |= {f"{name}_{key}": value for key, value in scores.part(part).report().items()}
    if no_answer is not None:
        for key, values in (("exact", raw.exact), ("f1", raw.f1)):
            best, at = find_best_threshold(has_answer, given, values, no_answer)
            report |= {f"best_{key}": best, f"best_{key}_threshold": at}
    return report


def _with_threshold(
    scores: AnswerScores, has_answer: Sequence[bool], no_answer: Sequence[float], threshold: float
) -> AnswerScores:
    """The scores when questions above the threshold are answered by no answer."""

    def judged(values: Sequence[float]) -> tuple[float, ...]:
        rows = zip(values, has_answer, no_answer, strict=True)
        return tuple(float(not has) if probability > threshold else value for value, has, probability in rows)

    return AnswerScores(exact=judged(scores.exact), f1=judged(scores.f1))


def find_best_threshold(
    has_answer: Sequence[bool],
    given: Given,
    scores: Sequence[float],
    no_answer: Sequence[float],
    *,
    lowest: float = 0.0,
) -> tuple[float, float]:
    """The best mean score that a no-answer threshold can give, and that threshold, as SQuAD 2.0's scorer finds them.

    `scores` are those of the texts given, before any threshold. Questions are answered one by one, the surest first;
    of equally sure ones some may be answered and others not, as in the scorer. `lowest` is the threshold when
    answering nothing is best: 0 for probabilities, minus infinity where `no_answer` is a margin of logits.

    >>> find_best_threshold([True, False, True], ["moon", "sun", "sea"], [1.0, 0.0, 1.0], [0.1, 0.9, 0.3])
    (1.0, 0.3)
    """
    score = best = float(sum(not has for has in has_answer))
    threshold = lowest
    for number in sorted(range(len(scores)), key=no_answer.__getitem__):
        if has_answer[number]:
            score += scores[number]
        elif given[number]:
            score -= 1
        if score > best:
            best, threshold = score, no_answer[number]
    return best / max(len(scores), 1), threshold
