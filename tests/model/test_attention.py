import numpy as np
import torch

from unmask.model.attention import attend
from unmask.model.dropout import Chance, drop, drop_add, scale, threshold

STACKS = ((2, 3), (1, 5))


def obvious(qkv: torch.Tensor, heads: int, keep: list[torch.Tensor] | None = None, factor: float = 1.0) -> torch.Tensor:
    """Sequence by sequence, head by head, as in the equation."""
    rows, start = [], 0
    for stack, (count, length) in enumerate(STACKS):
        for number in range(count):
            q, k, v = qkv[start : start + length].view(length, 3, heads, -1).permute(1, 2, 0, 3)
            weights = torch.softmax(q @ k.transpose(1, 2) / q.shape[-1] ** 0.5, -1)
            if keep is not None:
                weights = weights * keep[stack][number] * factor
            rows.append((weights @ v).transpose(0, 1).reshape(length, -1))
            start += length
    return torch.cat(rows)


def masks(chance: Chance, level: int) -> list[torch.Tensor]:
    device = torch.device("cpu")
    return [chance.keep(7 + (i << 16), (n, 4, s, s), level, device) for i, (n, s) in enumerate(STACKS)]


def test_attention_is_the_equation() -> None:
    qkv = torch.randn(11, 3 * 16, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(attend(qkv, STACKS, 4), obvious(qkv, 4))


def test_dropped_attention_and_its_gradient_are_those_of_the_equation() -> None:
    chance, level = Chance(5, 6), threshold(0.3)
    gradients = []
    for attention in (
        lambda qkv: attend(qkv, STACKS, 4, rate=0.3, chance=chance, place=7),
        lambda qkv: obvious(qkv, 4, masks(chance, level), scale(level)),
    ):
        qkv = torch.randn(11, 48, generator=torch.Generator().manual_seed(0), dtype=torch.float64, requires_grad=True)
        attention(qkv).tanh().sum().backward()
        gradients.append(qkv.grad)
    torch.testing.assert_close(*gradients)


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
