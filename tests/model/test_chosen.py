import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from unmask.data.ragged import Ragged, pack
from unmask.model.attention import attend, attend_from
from unmask.model.bert import Bert
from unmask.model.chosen import choose
from unmask.model.config import BertConfig
from unmask.model.dropout import Chance
from unmask.model.groups import Groups, equal_lengths, group
from unmask.model.heads import HEADS, BertWithHead, make_head
from unmask.tasks.objectives import OBJECTIVES, Learner, PretrainingBatch, make_model, needs_pooler

SMALL = BertConfig(vocabulary_size=50, width=32, layers=2, heads=4, feed_forward=64, positions=24)
CPU = torch.device("cpu")
BATCH = pack([[2, 7, 8, 3], [2, 9, 10, 3], [2, 3], [2, 10, 11, 12, 13, 3]])
each_way = pytest.mark.parametrize(
    "groups", [equal_lengths(BATCH.stacks), group(BATCH.stacks, 2, torch.device("cpu"), own=True)]
)
ASKED = np.array([1, 5, 4, 14, 11])  # of two equally long sequences one is asked twice and one not at all
POOLED = {"classes", "regression", "next_sentence", "choice", "embedding cls"}


def model_for(head: str) -> BertWithHead:
    name, _, pooling = head.partition(" ")
    return BertWithHead(Bert(SMALL, seed=3), make_head(name, SMALL, pooling=pooling, seed=4)).double()


def gradients(model: torch.nn.Module, *losses: Tensor) -> dict[str, Tensor]:
    """Of every parameter, zero where none arrives."""
    model.zero_grad()
    torch.stack([loss.square().sum() for loss in losses]).sum().backward()
    found = {name: part.grad for name, part in model.named_parameters()}
    return {name: torch.zeros(()) if part is None else part.clone() for name, part in found.items()}


def all_rows(bert: Bert, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets an encoder compute everything, whatever is read."""
    whole = bert.forward
    monkeypatch.setattr(bert, "forward", lambda batch, **options: whole(batch, **{**options, "rows": None}))


@pytest.mark.parametrize(
    "head", sorted((set(HEADS) - {"embedding"}) | {f"embedding {p}" for p in ("cls", "mean", "max")})
)
def test_every_head_says_and_learns_the_same_as_from_the_whole_layer(head: str) -> None:
    model = model_for(head)
    found = []
    for whole in (False, True):
        said = model.learn(BATCH, None, whole=whole)
        parts = said if isinstance(said, tuple) else (said,)
        found.append((parts, gradients(model, *parts)))
    (ours, our_gradients), (expected, expected_gradients) = found
    for one, other in zip(ours, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-12)
    for name, gradient in expected_gradients.items():
        torch.testing.assert_close(our_gradients[name], gradient, rtol=1e-9, atol=1e-12, msg=name)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_every_objective_learns_the_same_as_from_the_whole_layer(
    objective: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = BertConfig(**{**vars(SMALL), "pooler": needs_pooler(objective)})
    learner = Learner(make_model(config, objective, 0), objective).double()
    batch = PretrainingBatch(BATCH, ASKED, np.array([20, 21, 22, 23, 24]), np.array([0, 1, 1, 0]))
    ours = list(learner(batch, None)[0].values())
    our_gradients = gradients(learner, *ours)
    all_rows(learner.model.bert, monkeypatch)
    expected = list(learner(batch, None)[0].values())
    torch.testing.assert_close(ours, expected, rtol=1e-6, atol=1e-6)  # the word loss is added up in single precision
    for name, gradient in gradients(learner, *expected).items():
        torch.testing.assert_close(our_gradients[name], gradient, rtol=1e-5, atol=1e-6, msg=name)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.lists(st.integers(5, 49), min_size=1, max_size=9), min_size=1, max_size=7), st.data())
def test_any_chosen_tokens_are_as_in_the_whole_layer(rows: list[list[int]], data: st.DataObject) -> None:
    bert, batch = Bert(SMALL), pack(rows)
    asked = np.array(data.draw(st.lists(st.integers(0, len(batch.ids) - 1), max_size=12)), dtype=np.int64)
    places = torch.from_numpy(asked)
    with torch.inference_mode():
        torch.testing.assert_close(bert(batch, rows=asked).at(places), bert(batch).hidden[places], rtol=0, atol=2e-6)


@pytest.mark.parametrize("head", ["classes", "tokens", "embedding cls", "embedding mean", "pretraining"])
def test_the_last_layer_speaks_only_of_what_is_read(head: str) -> None:
    model = model_for(head)
    said: list[tuple[int, ...]] = []
    model.bert.layers[-1].register_forward_hook(lambda _, __, output: said.append(tuple(output.shape)))  # type: ignore[attr-defined]
    model(BATCH)
    assert said == [(4 if head in POOLED else 16, 32)]


@each_way
def test_chosen_queries_with_dropout_have_the_gradient_that_autograd_finds(groups: Groups) -> None:
    chosen, chance = choose(BATCH, ASKED, groups, CPU), Chance(1, 2)
    inputs = (
        torch.randn(len(chosen.places), 8).double().requires_grad_(),
        torch.randn(16, 16).double().requires_grad_(),
    )

    def attended(q: Tensor, kv: Tensor) -> Tensor:
        return attend_from(chosen, q, kv, groups, 2, rate=0.3, chance=chance, place=5)

    assert torch.autograd.gradcheck(attended, inputs)


def test_when_every_token_is_chosen_dropout_is_that_of_the_whole() -> None:
    groups = equal_lengths(BATCH.stacks)
    chosen, qkv = choose(BATCH, np.arange(16), groups, CPU), torch.randn(16, 24)
    ours = attend_from(chosen, qkv[:, :8], qkv[:, 8:], groups, 2, rate=0.3, chance=Chance(1, 2), place=5)
    assert torch.equal(ours, attend(qkv, groups, 2, rate=0.3, chance=Chance(1, 2), place=5))


def test_with_dropout_a_row_does_not_depend_on_what_its_batch_mates_say() -> None:
    bert = Bert(SMALL)
    other = Ragged(np.where(np.arange(16) < 10, BATCH.ids, 40), BATCH.segments, BATCH.lengths, BATCH.order)
    one, changed = (bert(batch, rows=ASKED, chance=Chance(1, 2)) for batch in (BATCH, other))
    kept = torch.tensor([0, 1, 4, 5])
    torch.testing.assert_close(one.at(kept), changed.at(kept), rtol=0, atol=1e-6)
    assert not torch.allclose(one.at(torch.tensor([11])), changed.at(torch.tensor([11])))


def test_dropout_of_chosen_rows_is_the_same_at_every_call_and_another_at_the_next_step() -> None:
    model = model_for("classes")
    one, same, next_step = (model.learn(BATCH, Chance(1, step)) for step in (2, 2, 3))
    assert torch.equal(one, same)
    assert not torch.allclose(one, next_step)


def test_recomputing_layers_gives_the_same_gradients_of_chosen_rows() -> None:
    found = []
    for recompute in (False, True):
        model = model_for("classes")
        model.bert.recompute = recompute
        found.append(gradients(model, model.learn(BATCH, Chance(1, 2))))
    assert all(torch.equal(gradient, found[1][name]) for name, gradient in found[0].items())


def test_what_was_not_asked_for_cannot_be_read() -> None:
    encoded = Bert(SMALL)(BATCH, rows=ASKED)
    with pytest.raises(AssertionError, match="not asked for"):
        encoded.at(torch.tensor([3]))
    with pytest.raises(AssertionError, match="only some tokens"):
        _ = encoded.hidden


def test_a_model_without_layers_reads_the_right_tokens_all_the_same() -> None:
    bert = Bert(BertConfig(vocabulary_size=30, width=8, layers=0, heads=2, positions=12))
    batch = pack([[2, 7, 8, 3], [2, 9, 3]])
    places = torch.tensor([1, 5])
    assert torch.equal(bert(batch, rows=places.numpy()).at(places), bert(batch).hidden[places])
