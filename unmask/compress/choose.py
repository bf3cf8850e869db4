"""The gentlest recipe that reaches a target size or speed: a model and a target in, a recipe and the reasons out.

Candidates are tried in the order of what they usually cost in score: first what loses nothing (another engine, pieces
that the text does not need), then int8, then fewer layers, then smaller students, at last static vectors. Neither size
nor speed depends on what the weights are, so each is made without learning and measured; only the one that is chosen
learns.
"""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from unmask.compress.recipe import STATIC, Means, Recipe, carry_out, total_bytes, write
from unmask.compress.timing import time_folder
from unmask.errors import InputError
from unmask.model.config import SIZES, BertConfig
from unmask.model.folder import ModelFolder

LAYER_SHARES = (3 / 4, 1 / 2, 1 / 4)


@dataclass(frozen=True)
class Target:
    """What is wanted; either may be left open."""

    bytes: int | None = None
    speedup: float | None = None

    def is_met(self, size: int, speedup: float | None) -> bool:
        """Whether a variant is small and fast enough."""
        small = self.bytes is None or size <= self.bytes
        return small and (self.speedup is None or (speedup or 0.0) >= self.speedup)


@dataclass(frozen=True)
class Tried:
    """A candidate and what it would give."""

    recipe: Recipe
    bytes: int
    speedup: float | None = None  # not measured where only the size counts, or is too large already

    def __str__(self) -> str:
        faster = "" if self.speedup is None else f", {self.speedup:.1f} times as fast"
        return f"{self.recipe.name}: {self.bytes / 1e6:.1f} MB{faster}"


def choose(
    opened: ModelFolder,
    source: Path | str,
    target: Target,
    texts: tuple[Path, ...],
    examples: Sequence[Any],
    means: Means,
) -> tuple[Recipe, list[Tried]]:
    """The first candidate that meets the target, and all that were tried up to it."""
    tried: list[Tried] = []
    teaches = bool(means.material.training)
    for recipe in candidates(opened.config, opened.about.head, trim=texts, teaches=teaches):
        tried.append(_try(recipe, opened, source, target, examples, means))
        means.note(str(tried[-1]))
        if target.is_met(tried[-1].bytes, tried[-1].speedup):
            return recipe, tried
    least = min(tried, key=lambda one: one.bytes) if target.bytes else max(tried, key=lambda one: one.speedup or 0.0)
    more = "" if teaches else "; with --data smaller students could be taught"
    raise InputError(
        f"a target that nothing reaches: the nearest is {least}{more}", wanted="a larger size or a smaller speedup"
    )


def candidates(config: BertConfig, head: str | None, *, trim: tuple[Path, ...], teaches: bool) -> Iterator[Recipe]:
    """Recipes, the gentlest first; without examples nothing is proposed that has to learn.

    >>> [recipe.name for recipe in candidates(BertConfig.named("tiny"), "classes", trim=(), teaches=True)]
    ['onnx', 'int8', '1 layer, int8']
    """
    trims = [(), trim] if trim else [()]
    for form in ("onnx", "int8"):
        for texts in trims:
            yield Recipe(trim=texts, form=form)
    if teaches:
        smallest = Recipe(trim=trim, form="int8")
        for layers in dict.fromkeys(max(1, round(share * config.layers)) for share in LAYER_SHARES):
            if layers < config.layers:
                yield replace(smallest, layers=layers)
        for size, (layers, width, _) in reversed(SIZES.items()):
            if width < config.width and layers <= config.layers:
                yield replace(smallest, distil_to=size)
    if head in (None, "embedding"):
        yield Recipe(trim=trim, distil_to=STATIC, form="int8")


def _try(
    recipe: Recipe, opened: ModelFolder, source: Path | str, target: Target, examples: Sequence[Any], means: Means
) -> Tried:
    """Makes a candidate without learning and measures it, in turns with the model as it is."""
    quiet: Callable[[str], None] = lambda _: None  # noqa: E731
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "candidate"
        unlearned = replace(means, learns=False, note=quiet, work=Path(place) / "work")
        write(recipe, carry_out(recipe, opened, unlearned), folder, force=True)
        size = total_bytes(folder)
        if target.speedup is None or (target.bytes is not None and size > target.bytes):
            return Tried(recipe, size)
        rates = [[time_folder(one, examples).rate for one in (source, folder)] for _ in range(2)]
        return Tried(recipe, size, max(after for _, after in rates) / max(before for before, _ in rates))
