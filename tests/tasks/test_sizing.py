from itertools import pairwise

from unmask.model.bert import Bert
from unmask.model.config import BertConfig
from unmask.tasks import sizing
from unmask.tasks.sizing import CANDIDATES, choose_size, layer_weights


def chosen(seconds: float, speed: float = 1.0, free: int = 1 << 50) -> str:
    """On a machine whose speed falls with the weights."""
    return choose_size(seconds, lambda size: speed * 1e9 / layer_weights(SHAPES[size]), SHAPES.__getitem__, free).size


SHAPES = {size: BertConfig.named(size) for size in CANDIDATES}


def test_more_time_or_a_faster_machine_never_chooses_a_smaller_size() -> None:
    times = [4.0**power for power in range(20)]
    for speed in (1.0, 3.0):
        sizes = [CANDIDATES.index(chosen(seconds, speed)) for seconds in times]
        assert all(one <= other for one, other in pairwise(sizes))
        assert (sizes[0], sizes[-1]) == (0, len(CANDIDATES) - 1)
    assert all(CANDIDATES.index(chosen(s, 1.0)) <= CANDIDATES.index(chosen(s, 3.0)) for s in times)


def test_a_size_that_does_not_fit_into_memory_is_not_even_measured() -> None:
    measured = []

    def speed(size: str) -> float:
        measured.append(size)
        return 1e12

    assert choose_size(60, speed, SHAPES.__getitem__, 40 * SHAPES["small"].parameters).size == "small"
    assert measured == ["tiny", "mini", "small"]


def test_sizes_beyond_the_first_that_is_too_slow_are_not_measured() -> None:
    choice = choose_size(1.0, lambda _: 1.0, SHAPES.__getitem__, 1 << 50)
    assert (choice.size, list(choice.seen)) == ("tiny", ["tiny"])


def test_the_weights_of_the_layers_are_those_of_their_matrices() -> None:
    bert = Bert(BertConfig.named("tiny", vocabulary_size=50))
    matrices = [part for layer in bert.layers for part in layer.parameters() if part.ndim == 2]
    assert sum(part.numel() for part in matrices) == layer_weights(bert.config)


def test_the_line_says_why() -> None:
    assert sizing.Choice("tiny", {"tiny": 0.5}).in_words().startswith("size tiny: 0.5 pieces for each weight")
