"""Texts in groups: vectors of texts in, groups of like texts out, each with its most typical words and central text.

A number of groups is found by k-means, a least cosine within groups by average linkage; without either the number is
the one whose groups are most distinct (the silhouette). The clustering is scikit-learn's.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unmask.apps.search import PlacedText
from unmask.decode.embeddings import normalised
from unmask.decode.words import Floats
from unmask.errors import InputError
from unmask.retrieve.lexical import terms

Labels = NDArray[np.int64]

TYPICAL = 5  # words of a group
MOST_LINKED = 5_000  # texts for linkage, which holds every pair in memory
WHOLE = 10_000  # texts from which on k-means learns from parts of them
SAMPLE = 2_000  # texts that the silhouette is taken of
NUMBERS = (2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 25, 32)  # of groups, to choose from


@dataclass(frozen=True)
class Cluster:
    """Texts that belong together."""

    words: tuple[str, ...]  # that are typical of it, the most typical first
    central: PlacedText  # the text nearest to the middle
    cohesion: float  # the mean cosine of its texts with the middle
    texts: tuple[PlacedText, ...]  # the nearest to the middle first

    @property
    def name(self) -> str:
        """What people may call it."""
        return ", ".join(self.words[:3]) or self.central.text[:40]

    def to_dict(self) -> dict[str, Any]:
        """The group as JSON has it."""
        return {
            "name": self.name,
            "size": len(self.texts),
            "words": list(self.words),
            "central": self.central.to_dict(),
            "cohesion": round(self.cohesion, 4),
            "texts": [placed.to_dict() for placed in self.texts],
        }


@dataclass(frozen=True)
class Clusters:
    """All groups of some texts."""

    clusters: tuple[Cluster, ...]  # the largest first
    silhouette: float | None  # from -1 to 1: how much nearer texts are to their own group than to the next

    def to_dict(self) -> dict[str, Any]:
        """The groups as JSON has them."""
        rounded = None if self.silhouette is None else round(self.silhouette, 4)
        told = [cluster.to_dict() for cluster in self.clusters]
        return {"clusters": told, "count": len(told), "silhouette": rounded}


def cluster_texts(
    texts: Sequence[PlacedText], vectors: Floats, *, k: int | None = None, threshold: float | None = None, seed: int = 0
) -> Clusters:
    """Groups texts by their unit vectors.

    >>> texts = [PlacedText(text, "") for text in ("rain falls", "rain fell", "snow lies", "snow lay")]
    >>> vectors = np.array([[1, 0.1], [1, 0], [0, 1], [0.1, 1]], np.float32)
    >>> [cluster.words[0] for cluster in cluster_texts(texts, normalised(vectors), k=2).clusters]
    ['rain', 'snow']
    """
    labels = _labels(vectors, k, threshold, seed)
    typical = typical_words([terms(placed.text) for placed in texts], labels)
    groups = [(int(label), np.flatnonzero(labels == label)) for label in np.unique(labels)]
    groups.sort(key=lambda group: (-len(group[1]), group[1][0]))
    made = [_cluster(texts, vectors, places, typical[label]) for label, places in groups]
    return Clusters(tuple(made), silhouette(vectors, labels, seed))


def typical_words(words: Sequence[Sequence[str]], labels: Labels) -> dict[int, tuple[str, ...]]:
    """For each group the words by which it differs most from all texts together (their part of the divergence).

    >>> typical_words([["the", "rain"], ["the", "rain"], ["the", "snow"]], np.array([0, 0, 1]))[1]
    ('snow', 'the')
    """
    counts: dict[int, Counter[str]] = {int(label): Counter() for label in np.unique(labels)}
    for label, said in zip(labels.tolist(), words, strict=True):
        counts[label].update(word for word in said if len(word) > 1)
    everywhere = sum(counts.values(), Counter[str]())
    return {label: _most_typical(own, everywhere) for label, own in counts.items()}


def _most_typical(own: Counter[str], everywhere: Counter[str]) -> tuple[str, ...]:
    shares = {word: times / own.total() for word, times in own.items()}
    usual = {word: everywhere[word] / everywhere.total() for word in own}
    worth = {word: share * math.log(share / usual[word]) for word, share in shares.items()}
    return tuple(sorted(worth, key=lambda word: (-worth[word], -own[word], word))[:TYPICAL])


def silhouette(vectors: Floats, labels: Labels, seed: int = 0) -> float | None:
    """How distinct groups are, on a sample; none where it is not defined."""
    from sklearn.metrics import silhouette_score

    chosen = np.random.default_rng(seed).permutation(len(vectors))[:SAMPLE]
    groups = len(np.unique(labels[chosen]))
    if not 2 <= groups < len(chosen):
        return None
    return float(silhouette_score(vectors[chosen], labels[chosen], metric="cosine"))


def _labels(vectors: Floats, k: int | None, threshold: float | None, seed: int) -> Labels:
    if k is not None and threshold is not None:
        raise InputError("--k and --threshold", wanted="one of them")
    if len(vectors) < 2:
        raise InputError(f"{len(vectors)} text", wanted="at least two to group")
    if threshold is not None:
        return _linked(vectors, threshold)
    if k is not None and k > len(vectors):
        raise InputError(f"--k {k} for {len(vectors)} texts", wanted=f"at most {len(vectors)}")
    if k is not None:
        return _by_means(vectors, k, seed)
    tried = list(_tried(vectors, seed))
    return max(tried, key=lambda one: one[0])[1] if tried else np.zeros(len(vectors), np.int64)


def _tried(vectors: Floats, seed: int) -> Iterator[tuple[float, Labels]]:
    for k in NUMBERS:
        if k <= len(vectors) // 2:
            labels = _by_means(vectors, k, seed)
            distinct = silhouette(vectors, labels, seed)
            if distinct is not None:
                yield distinct, labels


def _by_means(vectors: Floats, k: int, seed: int) -> Labels:
    """k-means of unit vectors: where all have length one, the nearest middle is that of the highest cosine."""
    from sklearn.cluster import KMeans, MiniBatchKMeans

    kind = KMeans if len(vectors) <= WHOLE else MiniBatchKMeans
    return np.asarray(kind(n_clusters=k, n_init=3, random_state=seed).fit_predict(vectors), np.int64)


def _linked(vectors: Floats, threshold: float) -> Labels:
    from sklearn.cluster import AgglomerativeClustering

    if len(vectors) > MOST_LINKED:
        got = f"--threshold with {len(vectors):,} texts"
        raise InputError(got, wanted=f"at most {MOST_LINKED:,}, as all pairs are held in memory", do="use --k")
    linkage = AgglomerativeClustering(
        n_clusters=None, distance_threshold=1 - threshold, metric="cosine", linkage="average"
    )
    return np.asarray(linkage.fit_predict(vectors), np.int64)


def _cluster(texts: Sequence[PlacedText], vectors: Floats, places: Labels, words: tuple[str, ...]) -> Cluster:
    middle = normalised(vectors[places].mean(0, keepdims=True))[0]
    cosines = vectors[places] @ middle
    ordered = [texts[place] for place in places[np.argsort(-cosines, kind="stable")]]
    return Cluster(words, ordered[0], float(cosines.mean()), tuple(ordered))
