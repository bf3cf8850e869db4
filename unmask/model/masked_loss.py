"""The masked-word loss without the logits: cross entropy over the vocabulary, computed for a few masked words at a time.

The gradient is computed together with the loss, while a chunk's logits are still in the cache; the logits of the whole
batch never exist. In: transformed states of the masked words (M, D) and the decoder. Out: loss sum and words found.
"""

from typing import Any

import torch
from torch import Tensor

CHUNK_NUMBERS = 1 << 21  # logits at a time: 8 MB


def masked_word_loss(states: Tensor, words: Tensor, bias: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """The sum of the masked words' losses, and how many of them are the model's first choice.

    >>> states, words, bias = torch.zeros(3, 4), torch.zeros(10, 4), torch.zeros(10)
    >>> loss, found = masked_word_loss(states, words, bias, torch.tensor([0, 1, 2]))
    >>> round(float(loss) / 3, 4)  # ln 10
    2.3026
    """
    loss, found = _MaskedWordLoss.apply(states, words, bias, targets)
    return loss, found


class _MaskedWordLoss(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, states: Tensor, words: Tensor, bias: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        learning = any(ctx.needs_input_grad)
        to_states, to_words, to_bias = (torch.zeros_like(part) if learning else None for part in (states, words, bias))
        loss = torch.zeros((), dtype=torch.float64, device=states.device)
        found = torch.zeros((), dtype=torch.int64, device=states.device)
        for rows in torch.arange(len(targets)).split(max(1, CHUNK_NUMBERS // len(words))):
            part = slice(int(rows[0]), int(rows[-1]) + 1)
            logits = torch.addmm(bias, states[part], words.T).float()  # (m, V)
            target = targets[part, None]  # (m, 1)
            best, choice = logits.max(-1, keepdim=True)
            found += (choice == target).sum()
            at_target = logits.gather(1, target)
            odds = logits.sub_(best).exp_()
            total = odds.sum(-1, keepdim=True)
            loss += (best + total.log() - at_target).double().sum()
            if to_states is not None and to_words is not None and to_bias is not None:
                error = odds.div_(total).scatter_add_(1, target, -torch.ones_like(at_target)).to(states.dtype)
                torch.mm(error, words, out=to_states[part])
                to_words.addmm_(error.T, states[part])
                to_bias += error.sum(0)
        if learning:
            ctx.save_for_backward(to_states, to_words, to_bias)
        ctx.mark_non_differentiable(found)
        return loss.float(), found

    @staticmethod
    def backward(ctx: Any, gradient: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        to_states, to_words, to_bias = ctx.saved_tensors
        return to_states * gradient, to_words.mul_(gradient), to_bias * gradient, None
