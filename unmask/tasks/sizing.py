"""Which size of model reaches the lowest loss in a time budget, by the machine's measured speed and a rule from runs.

A larger model learns more from each piece and sees fewer of them in the time. In: how many pieces a second each size
learns from here. Out: the largest size that sees enough pieces for its weights (`docs/decisions/0010`).
"""

from collections.abc import Callable
from dataclasses import dataclass

from unmask.model.config import BertConfig
from unmask.tasks.parts import BYTES_A_WEIGHT

CANDIDATES = ("tiny", "mini", "small", "medium", "base")  # each slower than the one before
ENOUGH = 3.0  # pieces for each weight of its layers, from which on a size is worth its cost


@dataclass(frozen=True)
class Choice:
    """The size chosen, and for each size that was measured the pieces that each weight of its layers would see."""

    size: str
    seen: dict[str, float]

    def in_words(self) -> str:
        """Why this size.

        >>> Choice("mini", {"tiny": 41.23, "mini": 8.1, "small": 0.162}).in_words()
        'size mini: 8.1 pieces for each weight of its layers in this time; small would have 0.16, and 3 are enough'
        """
        said = f"size {self.size}: {self.seen[self.size]:.2g} pieces for each weight of its layers in this time"
        larger = [name for name in self.seen if CANDIDATES.index(name) > CANDIDATES.index(self.size)]
        why = "".join(f"; {name} would have {self.seen[name]:.2g}" for name in larger)
        return f"{said}{why}{', and' if why else ';'} {ENOUGH:g} are enough"


def choose_size(
    seconds: float, pieces_a_second: Callable[[str], float], shape: Callable[[str], BertConfig], free_bytes: int
) -> Choice:
    """Tries the sizes upwards, until one would see too few pieces or does not fit into memory.

    >>> speeds = {"tiny": 16_000, "mini": 3_900, "small": 1_300}
    >>> choose_size(7200, speeds.__getitem__, BertConfig.named, 8 << 30).size
    'mini'
    """
    seen: dict[str, float] = {}
    for size in CANDIDATES:
        if seen and shape(size).parameters * BYTES_A_WEIGHT > free_bytes / 2:  # the other half is for activations
            break
        seen[size] = seconds * pieces_a_second(size) / layer_weights(shape(size))
        if seen[size] < ENOUGH:
            break
    worth = [size for size, pieces in seen.items() if pieces >= ENOUGH]
    return Choice(worth[-1] if worth else CANDIDATES[0], seen)


def layer_weights(config: BertConfig) -> int:
    """The numbers in the matrices of all layers; those of the embeddings are used one row at a time.

    >>> layer_weights(BertConfig.named("base"))
    84934656
    """
    return config.layers * (4 * config.width**2 + 2 * config.width * config.feed_forward)
