"""A space in which near means alike: an encoder, and for one that was never taught to embed a whitening learned from
the texts at hand. Texts in, unit vectors out; saved beside an index and opened again with the same encoder.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from unmask.apps.app_folder import same_encoder
from unmask.apps.vectors import TextVectors
from unmask.decode.words import Floats
from unmask.errors import InputError
from unmask.model.named import NAMED
from unmask.retrieve.whitening import FEWEST, Whitening

Report = Callable[[int, int], None]
WHITENING = "whitening.npz"
MOST = 20_000  # texts that a whitening is learned from; more change nothing


@dataclass(frozen=True)
class TextSpace:
    """What makes vectors of texts that can be compared."""

    encoder: TextVectors
    whitening: Whitening | None = None

    @classmethod
    def of(
        cls,
        encoder: TextVectors,
        texts: Sequence[str],
        *,
        whiten: bool | None = None,
        report: Report = lambda *_: None,
    ) -> tuple[Self, Floats]:
        """The space for texts, and their vectors in it; `whiten` None: as the encoder needs it."""
        vectors = encoder(texts, report=report)
        if whiten is None:
            whiten = not encoder.taught and len(set(texts)) >= FEWEST
        if not whiten:
            return cls(encoder), vectors
        if len(set(texts)) < FEWEST:
            raise InputError(f"{len(set(texts))} different texts", wanted=f"at least {FEWEST} to whiten their vectors")
        whitening = Whitening.of(vectors[:: -(-len(vectors) // MOST)])
        return cls(encoder, whitening), whitening(vectors)

    def __call__(self, texts: Sequence[str], *, report: Report = lambda *_: None) -> Floats:
        """A unit vector for each text."""
        vectors = self.encoder(texts, report=report)
        return vectors if self.whitening is None else self.whitening(vectors)

    def fields(self, folder: Path) -> dict[str, Any]:
        """What an application's folder says of its space."""
        return {
            "encoder": _name_within(folder, self.encoder),
            "encoder_identity": self.encoder.identity,
            "whitened": self.whitening is not None,
        }

    def save(self, folder: Path) -> None:
        """Writes the whitening, if there is one."""
        if self.whitening is not None:
            self.whitening.save(folder / WHITENING)

    @classmethod
    def open(cls, folder: Path, fields: Mapping[str, Any], *, device: str = "cpu", threads: int | None = None) -> Self:
        """The space of an application's folder; an encoder that has changed since is refused."""
        encoder = TextVectors(find_encoder(folder, fields["encoder"]), device=device, threads=threads)
        same_encoder(folder, fields, encoder.identity, do="build it again")
        return cls(encoder, Whitening.load(folder / WHITENING) if fields.get("whitened") else None)


def find_encoder(folder: Path, name: str) -> Path | str:
    """The encoder that a folder names: one of its own, such as a tuned one, or any model's name.

    >>> find_encoder(Path("my-faq"), "default")
    'default'
    """
    own = folder / name
    return own if name.startswith("./") and own.is_dir() else name


def _name_within(folder: Path, encoder: TextVectors) -> str:
    """An encoder's name that is understood from anywhere, and from within where the encoder lies in the folder."""
    if encoder.name in NAMED or encoder.name.startswith("hf:"):
        return encoder.name
    place, own = encoder.folder.resolve(), folder.resolve()
    return f"./{place.relative_to(own).as_posix()}" if place.is_relative_to(own) else str(place)


def load_vectors(path: Path, count: int) -> Floats:
    """The stored vectors of so many texts, mapped into memory."""
    try:
        vectors: Floats = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise InputError(f"{path}, which is damaged or missing", do="build it again") from error
    if vectors.ndim != 2 or len(vectors) != count:
        raise InputError(f"{path} with vectors of shape {vectors.shape}", wanted=f"{count:,}", do="build it again")
    return vectors
