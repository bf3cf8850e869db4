import pytest
import torch
import torch.nn.functional as F
from products import need_products_in

from unmask.model import masked_loss
from unmask.model.masked_loss import masked_word_loss


def parts() -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    shapes = [(23, 8), (50, 8), (50,)]
    return [torch.randn(*shape, generator=generator, dtype=torch.float64).requires_grad_() for shape in shapes]


@pytest.mark.parametrize("rows", [1, 7, 100])
def test_the_loss_and_gradients_in_chunks_are_those_of_cross_entropy(
    rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(masked_loss, "CHUNK_NUMBERS", rows * 50)
    targets = torch.arange(23)
    ours, obvious = parts(), parts()
    loss, found = masked_word_loss(*ours, targets)
    logits = F.linear(*obvious)
    expected = F.cross_entropy(logits, targets, reduction="sum")
    torch.testing.assert_close(loss.double(), expected, rtol=1e-5, atol=1e-5)
    assert int(found) == int((logits.argmax(-1) == targets).sum())
    (loss / 23).backward()
    (expected / 23).backward()
    for one, other in zip(ours, obvious, strict=True):
        torch.testing.assert_close(one.grad, other.grad, rtol=1e-4, atol=1e-6)


def test_a_hopeless_target_has_a_large_but_finite_loss() -> None:
    states, words = torch.tensor([[1.0]]), torch.tensor([[200.0], [0.0]])
    loss, found = masked_word_loss(states, words, torch.zeros(2), torch.tensor([1]))
    assert float(loss) == pytest.approx(200.0)
    assert int(found) == 0


def test_without_gradients_nothing_is_kept() -> None:
    with torch.no_grad():
        loss, _ = masked_word_loss(*parts(), torch.arange(23))
    assert not loss.requires_grad


def test_in_bfloat16_loss_and_gradients_are_nearly_the_same() -> None:
    need_products_in("bfloat16")

    def learned(halved: bool) -> tuple[torch.Tensor, list[torch.Tensor]]:
        own = [part.detach().float().requires_grad_() for part in parts()]
        with torch.autocast("cpu", torch.bfloat16, enabled=halved):
            loss, _ = masked_word_loss(*own, torch.arange(23))
        return loss, list(torch.autograd.grad(loss, own))

    (full, gradients), (halved, nearly) = learned(False), learned(True)
    torch.testing.assert_close(halved, full, rtol=1e-3, atol=0)
    for one, other in zip(gradients, nearly, strict=True):
        assert other.dtype == torch.float32
        torch.testing.assert_close(other, one, rtol=0.02, atol=0.02)
    assert not torch.equal(gradients[0], nearly[0])


def test_nothing_asked_is_no_loss() -> None:
    need_products_in("bfloat16")
    states, words, bias = torch.zeros(0, 8, requires_grad=True), torch.randn(20, 8, requires_grad=True), torch.zeros(20)
    for halved in (False, True):
        with torch.autocast("cpu", torch.bfloat16, enabled=halved):
            loss, found = masked_word_loss(states, words, bias, torch.zeros(0, dtype=torch.int64))
        loss.backward()
        assert (loss.item(), found.item()) == (0.0, 0)
