"""Texts as vectors, whatever model gives them: a model's name and texts in, an array with a line for each out.

An embedding model is read as it was taught; an encoder that never was gives the mean of its tokens. Serving folders
answer by onnxruntime, model folders by torch until they are asked much.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from unmask.apps.predict import Outputs, Predictor, open_any
from unmask.apps.refusing import Refused, fault_of
from unmask.data.examples import TextExample
from unmask.data.rows import Row
from unmask.decode.embeddings import normalised
from unmask.decode.words import Floats
from unmask.errors import InputError
from unmask.files import sha256
from unmask.model.about import About
from unmask.model.checksums import UNCHECKED
from unmask.model.named import find_model
from unmask.runtime.folder import MODELS, ServingFolder
from unmask.tasks.embedding import TextEmbedding
from unmask.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from unmask.model.folder import ModelFolder

Report = Callable[[int, int], None]
BLOCK = 256  # texts at once: a serving folder of a bare encoder gives the vectors of all their pieces
UNTAUGHT = (None, "pretraining", "masked_words", "next_sentence")  # heads of encoders that were taught no task
MEANING = (".json", ".txt", ".safetensors", ".bin")  # endings of the files that decide a vector


@dataclass(frozen=True, eq=False)
class Vector:
    """A text's vector, and how many pieces were read for it."""

    values: Floats  # (D,)
    pieces: int


@dataclass(frozen=True)
class Embedding:
    """What reads texts as vectors."""

    task: TextEmbedding
    tokenizer: Tokenizer
    outputs: Outputs
    width: int  # D
    taught: bool  # to embed: near vectors are like texts; else whitening makes them so

    @classmethod
    def of(cls, opened: "ServingFolder | ModelFolder", name: str = "the model") -> "Embedding":
        """The reader of an opened model; one that was taught another task than embedding is refused."""
        head, width = opened.about.head, opened.config.width
        if head in UNTAUGHT:
            task = _untaught(opened.about, opened.config.positions)
            return cls(task, opened.tokenizer, _mean_of_tokens(opened, name), width, taught=False)
        predictor = Predictor.of(opened, name)
        if not isinstance(predictor.task, TextEmbedding):
            wanted = "an embedding model or an encoder without a task"
            raise InputError(f"{name}, a model for {predictor.task.kind!r}", wanted=wanted, do="name one with -m")
        return cls(predictor.task, predictor.tokenizer, predictor.outputs, width, taught=True)

    def many(self, examples: Sequence[TextExample]) -> list[Vector | Refused]:
        """The vector of each text, or what is wrong with it."""
        faults = [fault_of(example) for example in examples]
        sound = [place for place, fault in enumerate(faults) if fault is None]
        answers: list[Vector | Refused | None] = [*faults]
        if sound:
            chosen = [examples[place] for place in sound]
            rows = self.task.rows(chosen, self.tokenizer)
            found = self.task.answers(chosen, rows, self.outputs(rows))
            pieces = Counter[int]()
            for row in rows:
                pieces[row.example] += len(row.ids)
            for number, place in enumerate(sound):
                answers[place] = Vector(found[number].vectors[0], pieces[number])
        return [answer for answer in answers if answer is not None]

    def vectors(self, texts: Sequence[str], *, report: Report = lambda *_: None) -> Floats:
        """A vector for each text, in their order; a text that cannot be read is an error that names it."""  # (B, D)
        vectors = np.empty((len(texts), self.width), np.float32)
        for start in range(0, len(texts), BLOCK):
            found = self.many([TextExample(text) for text in texts[start : start + BLOCK]])
            for place, vector in enumerate(found, start):
                if isinstance(vector, Refused):
                    raise InputError(f"text {place + 1}, which cannot be read: {vector.error}", do="mend or remove it")
                vectors[place] = vector.values
            report(min(start + BLOCK, len(texts)), len(texts))
        return vectors


@dataclass(frozen=True, eq=False)
class EmbeddedTexts:
    """Texts as an embedding model has them."""

    vectors: Floats  # (B, D)

    def to_dict(self) -> dict[str, Any]:
        """The answer as JSON has it."""
        return {"vectors": self.vectors.tolist()}


class TextEncoder:
    """An embedding model, asked with text: its vectors as it was taught, of length one if it was so."""

    def __init__(self, opened: "ServingFolder | ModelFolder") -> None:
        self.embedding = Embedding.of(opened)

    def __call__(self, texts: str | Sequence[str], *, report: Report = lambda *_: None) -> EmbeddedTexts:
        """The vector of each text."""
        return EmbeddedTexts(self.embedding.vectors([texts] if isinstance(texts, str) else texts, report=report))


class TextVectors:
    """A model by which any number of texts become unit vectors.

    >>> import tempfile
    >>> from unmask.model.bert import Bert
    >>> from unmask.model.config import BertConfig
    >>> from unmask.model.folder import save_model
    >>> from unmask.text.vocabulary import SPECIAL_PIECES
    >>> config = BertConfig.named("tiny", vocabulary_size=7)
    >>> folder = Path(tempfile.mkdtemp()) / "encoder"
    >>> save_model(folder, config, Bert(config), Tokenizer([*SPECIAL_PIECES, "rain", "snow"]), About())
    >>> vectors = TextVectors(folder)
    >>> vectors(["rain", "snow", "rain snow"]).shape, vectors.width, vectors.taught
    ((3, 128), 128, False)
    """

    def __init__(self, name: Path | str = "default", *, device: str = "cpu", threads: int | None = None) -> None:
        self.name = str(name)
        self.folder = find_model(name)
        opened = open_any(self.folder, device=device, threads=threads)
        self.width = opened.config.width
        self.embedding = Embedding.of(opened, self.name)

    @property
    def taught(self) -> bool:
        """Whether the model was taught to embed."""
        return self.embedding.taught

    @cached_property
    def identity(self) -> str:
        """A hash of the files that decide a vector: what was indexed with another model is noticed by it."""
        return identity_of(self.folder)

    def __call__(self, texts: Sequence[str], *, report: Report = lambda *_: None) -> Floats:
        """A unit vector for each text, in their order."""  # (B, D)
        return normalised(self.embedding.vectors(texts, report=report))


def identity_of(folder: Path) -> str:
    """The hash of a model's files, wherever they lie; its card and the journal of its training do not count.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "vocab.txt").write_text("word")
    >>> before = identity_of(folder)
    >>> _ = (folder / "README.md").write_text("a card")
    >>> identity_of(folder) == before
    True
    """
    digest = hashlib.sha256()
    for path in _files_of(folder):
        digest.update(f"{path.name} {sha256(path)}\n".encode())
    return digest.hexdigest()


def _files_of(folder: Path) -> list[Path]:
    if folder.is_file():
        return [folder]
    own = [path for path in folder.iterdir() if path.suffix in MEANING and path.name not in UNCHECKED]
    within = [folder / name for name in (*MODELS, "1_Pooling/config.json")]
    return sorted(path for path in [*own, *within] if path.is_file())


def _untaught(about: About, positions: int) -> TextEmbedding:
    return TextEmbedding(longest=about.max_length or positions, pooling="mean", normalise=True)


def _mean_of_tokens(opened: "ServingFolder | ModelFolder", name: str) -> Outputs:
    """What gives each row's mean over its tokens."""
    if isinstance(opened, ServingFolder):
        if opened.about.head is not None:
            wanted = "a model folder, or the serving folder of an embedding model"
            raise InputError(f"{name}, a serving folder with the head {opened.about.head!r}", wanted=wanted)
        return partial(_means, opened.engine.outputs)
    from unmask.compress.model_engine import ModelEngine
    from unmask.model.heads import BertWithHead, make_head

    pooling = BertWithHead(opened.bert, make_head("embedding", opened.config, pooling="mean")).eval()
    return ModelEngine(replace(opened, model=pooling, about=About("embedding", pooling="mean"))).outputs


def _means(outputs: Outputs, rows: Sequence[Row], *, report: Report = lambda *_: None) -> list[Floats]:
    return [tokens.mean(0) for tokens in outputs(rows, report=report)]
