import pytest
import torch

from unmask.data.ragged import pack
from unmask.errors import InputError
from unmask.model.bert import Bert
from unmask.model.config import BertConfig
from unmask.model.deepening import deepen, doubled
from unmask.model.heads import BertWithHead, make_head

ROWS = pack([[2, 7, 9, 3], [2, 8, 11, 5, 3], [2, 30, 3]])


def trained_looking(layers: int = 2) -> Bert:
    """Norms of a fresh model are all ones: here gains and biases differ, as those of a trained one do."""
    bert = Bert(BertConfig.named("tiny", layers=layers, width=32, heads=2, feed_forward=64, vocabulary_size=50))
    generator = torch.Generator().manual_seed(0)
    for layer in bert.layers:
        torch.nn.init.normal_(layer.output_norm.weight, 1.0, 0.1, generator=generator)
        torch.nn.init.normal_(layer.output_norm.bias, 0.0, 0.2, generator=generator)
    return bert


def test_a_deeper_model_says_nearly_the_same() -> None:
    bert = trained_looking()
    with torch.no_grad():
        before, after = bert(ROWS).hidden, deepen(bert, 4)(ROWS).hidden
    assert float((after - before).norm() / before.norm()) < 0.2
    assert len(bert.layers) == 2  # as it was


def test_every_part_of_a_new_layer_learns() -> None:
    deep = deepen(trained_looking(), 3)
    optimiser = torch.optim.SGD(deep.parameters(), lr=0.1)
    fresh = 1 + next(number for number in range(3) if not deep.layers[number + 1].down.weight.any())
    for _ in range(2):  # what is multiplied by zero has a gradient of zero in the first step
        optimiser.zero_grad()
        deep(ROWS).hidden.square().cumsum(-1).mean().backward()
        optimiser.step()
    gradients = {name: value.grad for name, value in deep.layers[fresh].named_parameters()}
    assert [name for name, gradient in gradients.items() if gradient is None or not gradient.any()] == []


@pytest.mark.parametrize(("layers", "wanted"), [(1, 2), (2, 3), (4, 6), (4, 8), (6, 7), (12, 24)])
def test_each_old_layer_comes_once_or_twice_in_order(layers: int, wanted: int) -> None:
    places = doubled(layers, wanted)
    assert len(places) == wanted
    assert places == sorted(places)
    assert {places.count(layer) for layer in range(layers)} <= {1, 2}


def test_heads_that_were_taken_out_stay_out() -> None:
    config = BertConfig.named("tiny", vocabulary_size=50, layers=2, pruned_heads=((), (1,)))
    deep = deepen(Bert(config), 4)
    assert deep.config.pruned_heads == ((), (), (1,), (1,))
    assert deep(ROWS).hidden.shape == (len(ROWS.ids), config.width)


@pytest.mark.parametrize("layers", [1, 2, 5])
def test_fewer_layers_or_more_than_twice_as_many_are_refused(layers: int) -> None:
    with pytest.raises(InputError, match="3 to 4, as the model has 2"):
        deepen(trained_looking(), layers)


def test_a_deeper_model_has_the_heads_that_it_had() -> None:
    bert = trained_looking()
    model = deepen(BertWithHead(bert, make_head("pretraining", bert.config)), 3)
    assert model.bert.config.layers == 3
    words, pairs = model(ROWS)
    assert words.shape[-1] == 50
    assert pairs.shape == (3, 2)
