import numpy as np
import pytest
import torch
from products import need_products_in

from unmask.model.attention import attend
from unmask.model.dropout import Chance, drop, drop_add, scale, threshold
from unmask.model.groups import OWN_CALL, Groups, equal_lengths, group

STACKS = ((2, 3), (1, 5), (1, 6))
LENGTHS = (3, 3, 5, 6)
CPU = torch.device("cpu")
each_way = pytest.mark.parametrize(
    "groups", [equal_lengths(STACKS), group(STACKS, 4, CPU, own=True)], ids=["equal", "padded"]
)


def obvious(qkv: torch.Tensor, heads: int, keep: list[torch.Tensor] | None = None, factor: float = 1.0) -> torch.Tensor:
    """Sequence by sequence, head by head, as in the equation."""
    rows, start = [], 0
    for number, length in enumerate(LENGTHS):
        q, k, v = qkv[start : start + length].view(length, 3, heads, -1).permute(1, 2, 0, 3)
        weights = torch.softmax(q @ k.transpose(1, 2) / q.shape[-1] ** 0.5, -1)
        if keep is not None:
            weights = weights * keep[number][:, :length, :length] * factor
        rows.append((weights @ v).transpose(0, 1).reshape(length, -1))
        start += length
    return torch.cat(rows)


def masks(chance: Chance, level: int, groups: Groups) -> list[torch.Tensor]:
    """What is kept of each sequence's probabilities, those of padding too."""
    shapes = [(one.count, 4, one.length, one.length) for one in groups]
    return [keep for i, shape in enumerate(shapes) for keep in chance.keep(7 + (i << 16), shape, level, CPU)]


@each_way
def test_attention_is_the_equation(groups: Groups) -> None:
    qkv = torch.randn(17, 3 * 16, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(attend(qkv, groups, 4), obvious(qkv, 4))


@each_way
def test_left_to_right_no_token_sees_a_later_one_or_padding(groups: Groups) -> None:
    qkv = torch.randn(17, 3 * 16, generator=torch.Generator().manual_seed(0))
    whole = attend(qkv, groups, 4, causal=True)
    torch.testing.assert_close(whole, attend(qkv, equal_lengths(STACKS), 4, causal=True))
    changed = qkv.clone()
    changed[[2, 5, 10, 16]] += 1.0  # the last token of each sequence
    kept = torch.tensor([0, 1, 3, 4, 6, 7, 8, 9, 11, 12, 13, 14, 15])
    torch.testing.assert_close(attend(changed, groups, 4, causal=True)[kept], whole[kept])


@each_way
@pytest.mark.parametrize("rate", [0.0, 0.3])
def test_attention_with_and_without_dropout_has_the_gradient_of_the_equation(groups: Groups, rate: float) -> None:
    chance, level = Chance(5, 6), threshold(rate)
    keep = masks(chance, level, groups) if rate else None
    gradients = []
    for attention in (
        lambda qkv: attend(qkv, groups, 4, rate=rate, chance=chance, place=7),
        lambda qkv: obvious(qkv, 4, keep, scale(level) if rate else 1.0),
    ):
        qkv = torch.randn(17, 48, generator=torch.Generator().manual_seed(0), dtype=torch.float64, requires_grad=True)
        attention(qkv).tanh().sum().backward()
        gradients.append(qkv.grad)
    torch.testing.assert_close(*gradients)


@each_way
@pytest.mark.parametrize("rate", [0.0, 0.3])
def test_attention_in_bfloat16_is_nearly_that_of_float32(groups: Groups, rate: float) -> None:
    need_products_in("bfloat16")
    halved = torch.randn(17, 48, generator=torch.Generator().manual_seed(0)).bfloat16().requires_grad_()
    full = halved.detach().float().requires_grad_()
    found, expected = (attend(qkv, groups, 4, rate=rate, chance=Chance(5, 6)) for qkv in (halved, full))
    assert found.dtype == torch.bfloat16
    torch.testing.assert_close(found.float(), expected, atol=0.03, rtol=0.02)
    for context in (found, expected):
        context.tanh().sum().backward()
    assert halved.grad is not None
    assert full.grad is not None
    torch.testing.assert_close(halved.grad.float(), full.grad, atol=0.03, rtol=0.03)


@pytest.mark.parametrize("precision", [torch.bfloat16, torch.float16])
def test_what_nothing_is_learned_from_is_attended_to_in_float32_on_a_cpu(precision: torch.dtype) -> None:
    halved = torch.randn(17, 48, generator=torch.Generator().manual_seed(0)).to(precision)
    with torch.autocast("cpu", precision):
        found = attend(halved, equal_lengths(STACKS), 4)
    assert torch.equal(found, attend(halved.float(), equal_lengths(STACKS), 4))


def test_lengths_share_a_group_where_their_padding_costs_less_than_a_call() -> None:
    near = int((OWN_CALL / 12) ** 0.5)  # one sequence of this length costs what a call costs
    short, long = tuple((2, length) for length in range(5, 12)), ((1, 3 * near), (1, 6 * near))
    assert [(one.count, one.length) for one in group(short, 12, CPU, own=True)] == [(14, 11)]
    assert [(one.count, one.length) for one in group(long, 12, CPU, own=True)] == [*long]
    mixed = group((*short, *long), 12, CPU, own=True)
    assert [one.tokens for one in mixed] == [sum(2 * length for _, length in short), 3 * near, 6 * near]
    assert mixed[0].seen is not None
    assert mixed[1].seen is None


def test_dropout_keeps_the_mean_and_drops_its_share() -> None:
    dropped = drop(torch.ones(1000, 1000), 0.1, Chance(0, 0), place=1)
    assert abs(float(dropped.mean()) - 1) < 0.002
    assert abs(float((dropped == 0).float().mean()) - 26 / 256) < 5 * np.sqrt(0.1 * 0.9 / 1e6)


def test_every_step_part_and_place_has_its_own_mask() -> None:
    chances = [(Chance(0, 0), 1), (Chance(1, 0), 1), (Chance(0, 1), 1), (Chance(0, 0, 1), 1), (Chance(0, 0), 2)]
    found = {drop(torch.ones(64), 0.5, chance, place).numpy().tobytes() for chance, place in chances}
    assert len(found) == len(chances)


def test_added_dropout_is_dropout_then_addition_with_the_same_gradient() -> None:
    x, branch = torch.randn(2, 4, 8, dtype=torch.float64)
    gradients = []
    for add in (drop_add, lambda x, branch, *rest: x + drop(branch, *rest)):
        parts = x.clone().requires_grad_(), branch.clone().requires_grad_()
        add(*parts, 0.5, Chance(0, 0), 3).square().sum().backward()
        gradients.append(torch.stack([part.grad for part in parts]))
    torch.testing.assert_close(*gradients)
