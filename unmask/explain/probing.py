"""What does a layer know? A model and labelled words in, the accuracy of a linear probe on every layer out.

A probe is a logistic regression from a word's state (that of its first piece) to its label; states of sentences are the
mean of their pieces. Beside it stands a control task (Hewitt and Liang, 2019): every word type gets a label by chance,
so that a probe can only learn it by heart. Accuracy less control accuracy is selectivity: what the states give away
that a probe could not simply remember. Word identity has no control, which would be the same question again.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray

from unmask.data.batches import BATCH_TOKENS, batches_by_length
from unmask.data.chance import generator
from unmask.data.ragged import Ragged
from unmask.data.word_rows import WordRow, word_rows
from unmask.errors import InputError
from unmask.explain.probe_examples import Probed
from unmask.model.bert import Bert
from unmask.model.folder import ModelFolder
from unmask.model.heads import pool_stacks
from unmask.tasks.metrics import accuracy, macro_f1

MOST = 4000  # labels that are learned and measured on together
MEASURED = 0.25  # share of the sentences that is measured on
STRENGTH = 0.1  # of the fit against the penalty on weights, over standardised states
MOST_ROUNDS = 150  # of the solver; what it finds later changes no accuracy

Floats = NDArray[np.float32]
Control = Callable[[str], str]  # a word type's label
Report = Callable[[int, int], None]  # told on the way: layers done, layers in all


@dataclass(frozen=True)
class LayerProbe:
    """What is found in one layer's states; layer 0 is the embeddings."""

    layer: int
    accuracy: float
    macro_f1: float
    control: float | None  # accuracy on labels that chance gave to word types
    selectivity: float | None


@dataclass(frozen=True)
class ProbeReport:
    """What every layer knows of a property."""

    asked: str  # the property
    classes: int
    learned: int  # labels
    measured: int
    majority: float  # the accuracy of always giving the commonest label
    rows: tuple[LayerProbe, ...]

    @property
    def best(self) -> LayerProbe:
        """The layer that knows most, the lowest of equals."""
        return max(self.rows, key=lambda row: row.accuracy)

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON has it."""
        told = asdict(self)
        rows = [asdict(row) for row in self.rows]
        return {"property": told.pop("asked"), **told, "rows": rows, "best_layer": self.best.layer}

    def in_words(self) -> str:
        """The same as a table for a terminal."""
        head = f"{self.asked}: {self.classes} classes, {self.learned:,} labels to learn, {self.measured:,} to measure"
        lines = [f"{head}; always the commonest: {self.majority:.3f}", "layer  accuracy  control  selectivity"]
        for row in self.rows:
            control = "" if row.control is None else f"  {row.control:7.3f}  {row.selectivity:11.3f}"
            lines.append(f"{row.layer:5d}  {row.accuracy:8.3f}{control}")
        return "\n".join(lines)


@dataclass(frozen=True)
class States:
    """States of words or sentences, and what is asked of them."""

    vectors: Floats  # (N, layers + 1, D)
    labels: tuple[str, ...]
    types: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.labels)


def probe(
    opened: ModelFolder, probed: Probed, *, most: int = MOST, seed: int = 0, report: Report = lambda *_: None
) -> ProbeReport:
    """A linear probe and its control task on every layer, the embeddings first."""
    learned, measured = (states_of(opened, probed, chosen) for chosen in divided(probed, most, seed))
    if len(set(learned.labels)) < 2 or not measured.labels:
        raise InputError(
            f"{len(learned)} labels of {len(set(learned.labels))} classes to learn and {len(measured)} to measure",
            wanted="at least two classes, and some of each part",
            do="give a larger file",
        )
    control = None if probed.property == "word" else control_task(learned.labels, seed)
    rows, layers = [], learned.vectors.shape[1]
    for layer in range(layers):
        rows.append(probed_layer(layer, learned, measured, control))
        report(layer + 1, layers)
    commonest = Counter(learned.labels).most_common(1)[0][0]
    majority = float(np.mean([label == commonest for label in measured.labels]))
    return ProbeReport(probed.property, len(set(learned.labels)), len(learned), len(measured), majority, tuple(rows))


def probed_layer(layer: int, learned: States, measured: States, control: Control | None) -> LayerProbe:
    """A probe of one layer, and of the control task if there is one."""
    states, asked = learned.vectors[:, layer], measured.vectors[:, layer]
    given = fitted(states, learned.labels, asked)
    right = accuracy(measured.labels, given)
    f1 = macro_f1(measured.labels, given)
    if control is None:
        return LayerProbe(layer, right, f1, None, None)
    said = fitted(states, [control(type_) for type_ in learned.types], asked)
    remembered = accuracy([control(type_) for type_ in measured.types], said)
    return LayerProbe(layer, right, f1, remembered, right - remembered)


def divided(probed: Probed, most: int, seed: int) -> tuple[list[int], list[int]]:
    """Numbers of sentences to learn from and to measure on, drawn until they have enough labels."""
    order, found, chosen = generator(seed, 0).permutation(len(probed.sentences)).tolist(), 0, []
    for number in order:
        chosen.append(number)
        found += sum(label is not None for label in probed.labels[number])
        if found >= most:
            break
    aside = max(1, round(MEASURED * len(chosen)))
    return chosen[aside:], chosen[:aside]


def states_of(opened: ModelFolder, probed: Probed, chosen: Sequence[int]) -> States:
    """Every layer's states of what is asked in some sentences."""
    sentences = [probed.sentences[number] for number in chosen]
    rows = first_windows(word_rows(opened.tokenizer, sentences, longest=opened.config.positions))
    found: dict[int, Any] = {}
    for which, batch in batches_by_length([row.ids for row in rows], tokens=BATCH_TOKENS):
        read = _whole(opened.bert, batch) if probed.whole else batch.split(_layers(opened.bert, batch))
        found |= dict(zip(which.tolist(), read, strict=True))
    vectors, labels, types = [], [], []
    for place, row in enumerate(rows):
        own, words = probed.labels[chosen[row.example]], probed.types(chosen[row.example])
        asked = [(0, 0)] if probed.whole else list(zip(row.words.tolist(), row.places.tolist(), strict=True))
        for word, token in asked:
            if (label := own[word]) is not None:
                vectors.append(found[place] if probed.whole else found[place][token])
                labels.append(label)
                types.append(words[word])
    return States(np.stack(vectors) if vectors else np.empty((0, 0, 0), np.float32), tuple(labels), tuple(types))


def first_windows(rows: Sequence[WordRow]) -> list[WordRow]:
    """One row of each sentence: of a long one its beginning, so that no word is asked twice."""
    return list({row.example: row for row in reversed(rows)}.values())[::-1]


def _layers(bert: Bert, batch: Ragged) -> Floats:
    """All layers of a batch."""  # (T, layers + 1, D)
    with torch.inference_mode():
        stacked: Floats = torch.stack(bert(batch, keep_layers=True).layers, 1).float().cpu().numpy()
    return stacked


def _whole(bert: Bert, batch: Ragged) -> Floats:
    """The mean over each sequence, in the order of the rows."""  # (B, layers + 1, D)
    with torch.inference_mode():
        layers = bert(batch, keep_layers=True).layers
        means = torch.stack([pool_stacks(layer, batch.stacks, "mean") for layer in layers], 1)
    return cast(Floats, batch.restore(means.float().cpu().numpy()))


def control_task(labels: Sequence[str], seed: int = 0) -> Control:
    """A label for every word type, by chance but always the same; labels are as frequent as the real ones.

    >>> control = control_task(["a", "b", "b"])
    >>> control("sea") == control("sea"), {control(word) for word in "some words of a text".split()} <= {"a", "b"}
    (True, True)
    """
    counts = Counter(labels)
    names = sorted(counts)
    limits = np.cumsum([counts[name] for name in names]) / len(labels)

    def drawn(type_: str) -> str:
        digest = hashlib.blake2b(type_.encode(), digest_size=8, key=str(seed).encode()).digest()
        at = np.searchsorted(limits, int.from_bytes(digest, "big") / 2**64, side="right")
        return names[min(int(at), len(names) - 1)]

    return drawn


def fitted(states: Floats, labels: Sequence[str], asked: Floats) -> list[str]:
    """What a linear probe says of states after it has seen others with their labels."""  # (N, D), (N,), (M, D)
    import warnings

    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    if len(set(labels)) < 2:  # control tasks of a few types may draw but one
        return [labels[0]] * len(asked)
    mean, deviation = states.mean(0), states.std(0) + 1e-6
    model = LogisticRegression(C=STRENGTH, max_iter=MOST_ROUNDS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit((states - mean) / deviation, list(labels))
    return [str(label) for label in model.predict((asked - mean) / deviation)]
