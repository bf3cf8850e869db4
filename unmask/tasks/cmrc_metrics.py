"""Exact match and F1 of answers to Chinese questions by CMRC 2018's official scorer, as fractions.

In: for each question the texts of the answers that count as right, and the text that was given. Out: scores of each
question. The scorer leaves out its own list of punctuation; then a Chinese character is a unit, and English between
them is divided into words; precision and recall count the longest run of units that both answers have, so the same
words in another order are not the same answer.
"""

import re
from collections.abc import Sequence

from unmask.tasks.question_metrics import Answers, AnswerScores, Given, best_over, squad1_scores
from unmask.tasks.treebank import treebank_words
from unmask.text.tokenizer import is_chinese

# exactly these, half-width comma and full stop not among them
PUNCTUATION = str.maketrans("", "", "-:_*^/\\~`+=，。：？！“”；’《》·、「」（）－～『』")
CHARACTER_OR_BETWEEN = re.compile("([\u4e00-\u9fa5])|[^\u4e00-\u9fa5]+")


def without_punctuation(text: str) -> str:
    """What exact match compares.

    >>> without_punctuation(" 《Moby-Dick》，1851年 ")
    'mobydick1851年'
    """
    return text.lower().strip().translate(PUNCTUATION)


def units(text: str) -> list[str]:
    """Chinese characters one by one, and the words between them.

    >>> units("《白鲸》 (Moby-Dick)，1851年")
    ['白', '鲸', '(', 'mobydick', ')', '1851', '年']
    """
    parts = CHARACTER_OR_BETWEEN.finditer(without_punctuation(text))
    return [unit for part in parts for unit in ([part[1]] if part[1] else treebank_words(part[0]))]


def longest_common_run(ours: Sequence[str], theirs: Sequence[str]) -> int:
    """The length of the longest stretch that two sequences have in common.

    >>> longest_common_run("白色的鲸鱼", "鲸鱼的白色")
    2
    """
    best, ending_here = 0, [0] * len(theirs)
    for unit in ours:
        before = zip([0, *ending_here], theirs, strict=False)  # the run that ends one place earlier in both
        ending_here = [length + 1 if unit == other else 0 for length, other in before]
        best = max([best, *ending_here])
    return best


def run_f1(answer: str, given: str) -> float:
    """F1 of two answers by their longest common run of units.

    >>> run_f1("上海市", "在上海")
    0.6666666666666666
    """
    wanted, found = units(answer), units(given)
    common = longest_common_run(wanted, found)
    if not common:
        return 0.0
    precision, recall = common / len(found), common / len(wanted)
    return (2 * precision * recall) / (precision + recall)


def same_but_punctuation(answer: str, given: str) -> float:
    """Are two answers the same without punctuation and case?

    >>> same_but_punctuation("《红楼梦》", "红楼梦")
    1.0
    """
    return float(without_punctuation(answer) == without_punctuation(given))


def cmrc_scores(expected: Answers, given: Given) -> AnswerScores:
    """Each question's scores by CMRC 2018; a question without an answer given scores 0.

    >>> cmrc_scores([["上海", "上海市"], ["1851年"]], ["上海。", None]).report()
    {'exact': 0.5, 'f1': 0.5, 'total': 2}
    """
    pairs = list(zip(expected, given, strict=True))
    return AnswerScores(
        exact=tuple(0.0 if text is None else best_over(same_but_punctuation, answers, text) for answers, text in pairs),
        f1=tuple(0.0 if text is None else best_over(run_f1, answers, text) for answers, text in pairs),
    )


def scores_by_language(expected: Answers, given: Given) -> AnswerScores:
    """Each question's scores where both languages are asked: Chinese answers by CMRC 2018, the others by SQuAD 1.1.

    >>> scores_by_language([["小王子"], ["the moon"]], ["王子", "moon"])
    AnswerScores(exact=(0.0, 1.0), f1=(0.8, 1.0))
    """
    scorers = [cmrc_scores if any(map(is_chinese, "".join(answers))) else squad1_scores for answers in expected]
    each = [score([answers], [text]) for score, answers, text in zip(scorers, expected, given, strict=True)]
    return AnswerScores(tuple(one.exact[0] for one in each), tuple(one.f1[0] for one in each))
