"""A step in parts: how many pieces go through the model at once, by the memory that their activations take."""

from unmask.errors import InputError
from unmask.model.config import BertConfig

LARGEST_PART = 1 << 15  # pieces at once beyond which products gain nothing
ENOUGH_MEMORY = 1 << 29  # bytes of activations beyond which a CPU gains a per cent or two
BYTES_A_WEIGHT = 16  # the weight, its gradient and the optimiser's two means, in float32


def number_of_parts(rows: int, length: int, part_tokens: int, world: int = 1) -> int:
    """Into how many micro-batches a step is divided: as few as fit into memory, and equally many for every process.

    >>> number_of_parts(32, 128, 4096), number_of_parts(32, 128, 4096, world=4), number_of_parts(30, 128, 1000, world=4)
    (1, 4, 8)
    """
    if rows < world:
        raise InputError(
            f"{rows} sequences of {length} pieces a step for {world} processes",
            wanted="at least one sequence for each",
            do="give more --batch-tokens, or start fewer processes",
        )
    fitting = -(-rows // max(1, part_tokens // length))
    return min(-(-fitting // world), rows // world) * world


def tokens_that_fit(config: BertConfig, free_bytes: int, *, length: int) -> int:
    """How many pieces' activations fit into half of the free memory, as a power of two of whole sequences.

    A layer keeps its input, queries, keys and values, what attention gathered, both sums before and after their norms,
    and the wide states of its feed-forward part; gradients and passing tensors take about as much again.

    >>> tokens_that_fit(BertConfig.named("base"), 8 << 30, length=128)
    4096
    """
    kept = config.layers * (8 * config.width + config.feed_forward) + config.heads * length
    fitting = free_bytes // 2 // (2 * 4 * kept)
    return max(length, min(LARGEST_PART, 1 << max(0, fitting.bit_length() - 1)))


def worth_taking(config: BertConfig, free_bytes: int) -> int:
    """How much of a CPU's free memory is worth taking, twice what activations are to have.

    They have half a gigabyte, or as much as weights and optimiser have anyway: a step in twice as many parts is then
    a per cent or two slower (record of the speed of pretraining).

    >>> config = BertConfig.named("small")
    >>> tokens_that_fit(config, worth_taking(config, 16 << 30), length=128)
    2048
    """
    return min(free_bytes, 2 * max(ENOUGH_MEMORY, BYTES_A_WEIGHT * config.parameters))
