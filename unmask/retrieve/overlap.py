"""How much of a query the words of texts cover: a query in, for each text a share from 0 to 1 out.

BM25's scores grow with the length of the query and the number of texts. Divided by what the query's words are worth in
all, words that no text has included, they can be added to a cosine and held against a threshold.
"""

from collections import Counter

import numpy as np

from unmask.decode.words import Floats
from unmask.retrieve.lexical import Lexical, terms


def shares(lexical: Lexical, query: str) -> Floats:
    """Each text's share of the query; a text that repeats its words has no more than all of it.

    >>> lexical = Lexical.of(["the lamp is lit", "the snow fell", "the hill"])
    >>> [round(float(share), 2) for share in shares(lexical, "the lamp of Babel")]
    [0.19, 0.03, 0.03]
    """  # (N,)
    worth = sum(times * lexical.rarity(term) for term, times in Counter(terms(query)).items())
    covered: Floats = np.minimum(lexical.scores(query) / max(worth, 1e-9), 1.0).astype(np.float32)
    return covered
