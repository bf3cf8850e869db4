"""How much of what a question is about a text speaks of: questions and texts in, shares from 0 to 1 out.

Words that only ask (`who`, `did`, 什么) stand in few texts and say nothing of the matter, so they are left out first.
What is left counts by its rarity, in a folder of three texts as in a library: as if many others stood beside them.
"""

import re
from collections.abc import Sequence

import numpy as np

from unmask.decode.words import Floats
from unmask.retrieve.lexical import Lexical, terms

ASKING = re.compile(
    r"(who(m|se)?|what|which|when|where|why|how|do(es|ne)?|did|is|are|was|were|be(en|ing)?|am|can|could|will|would|shall|"
    r"should|may|might|must|has|have|had|an?|the|of|to|in|on|at|by|for|from|with|about|into|as|and|or|th(at|is|ese|ose|ere)|"
    r"its?|s?he|they|i|you|we|me|my|your|our|their|many|much|long|often|please|tell|name|kind|type|s)",
    re.IGNORECASE,
)
ASKING_CHINESE = re.compile(
    "请问|请?告诉我|为什么|为何|什么时[候间]|什么样?|甚么|怎么样?|怎样|如何|何[时人处地年]|哪一?[年个些里儿位种家国座天次届]?|"
    "多[少大长久高远]|[几幾][年个位次种岁月天]?|谁|誰|是否|有没有|能否|[吗嗎呢的了是在有被和与及]"
)
WORD = re.compile(r"[^\W_]+")
BESIDE = 1000  # texts that are thought to stand beside the given ones, and to hold none of the words
STEM = 5  # letters by which words are the same: invent, invented and inventor


def topic(question: str) -> str:
    """The words that a question is about, in their order; none where it only asks.

    >>> topic("Who lit the lamp?").split(), topic("长城是什么时候修建的？").split(), topic("What is it?").split()
    (['lit', 'lamp?'], ['长城', '修建', '？'], ['?'])
    """
    kept = WORD.sub(lambda word: " " if ASKING.fullmatch(word[0]) else word[0], question)
    return ASKING_CHINESE.sub(" ", kept)


def covered(lexical: Lexical, question: str, texts: Sequence[str]) -> Floats:
    """The share of a question's topic that each text has; all of it where the question has none.

    >>> texts = ["The keeper lit the lamp.", "Snow fell."]
    >>> [f"{share:.2f}" for share in covered(Lexical.of(texts), "Who lit the first lamp?", texts)]
    ['0.63', '0.00']
    """  # (texts,)
    asked = {term: lexical.rarity(term, BESIDE) for term in terms(topic(question))}
    if not asked:
        return np.ones(len(texts), np.float32)
    held = [{term[:STEM] for term in terms(text)} for text in texts]
    shares = [sum(worth for term, worth in asked.items() if term[:STEM] in own) for own in held]
    return (np.array(shares, np.float32) / sum(asked.values())).astype(np.float32)
