"""The masked-word loss without the logits: cross entropy over the vocabulary, for a few masked words at a time.

The gradient is computed together with the loss, while a chunk's logits are still in the cache; the logits of the whole
batch never exist. In: transformed states of the masked words (M, D) and the decoder. Out: loss sum and words found.
"""

from typing import Any

import torch
from torch import Tensor

CHUNK_NUMBERS = 3 << 20  # logits at a time, 12 MB: so they stay in the cache
GATHERED_NUMBERS = 32 << 20  # errors in bfloat16, 64 MB, before they reach the decoder: adding to it takes long


def masked_word_loss(states: Tensor, words: Tensor, bias: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """The sum of the masked words' losses, and how many of them are the model's first choice.

    >>> states, words, bias = torch.zeros(3, 4), torch.zeros(10, 4), torch.zeros(10)
    >>> loss, found = masked_word_loss(states, words, bias, torch.tensor([0, 1, 2]))
    >>> round(float(loss) / 3, 4)  # ln 10
    2.3026
    """
    device = states.device.type
    halved = torch.is_autocast_enabled(device) and torch.get_autocast_dtype(device) == torch.bfloat16
    products = torch.bfloat16 if halved else words.dtype
    with torch.autocast(device, enabled=False):  # sums over a vocabulary want full precision, products do not
        loss, found = _MaskedWordLoss.apply(states.to(words.dtype), words, bias, targets, products)  # type: ignore[no-untyped-call]
    return loss, found


class _MaskedWordLoss(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, states: Tensor, words: Tensor, bias: Tensor, targets: Tensor, products: torch.dtype
    ) -> tuple[Tensor, Tensor]:
        learning = any(ctx.needs_input_grad)
        to_states, to_words, to_bias = (torch.zeros_like(part) if learning else None for part in (states, words, bias))
        loss = torch.zeros((), dtype=torch.float64, device=states.device)
        found = torch.zeros((), dtype=torch.int64, device=states.device)
        halved = products != words.dtype
        narrow_states, narrow_words = states.to(products), words.to(products)  # the same numbers where not halved
        chunk = max(1, min(len(targets), CHUNK_NUMBERS // len(words)))
        several = chunk * max(1, GATHERED_NUMBERS // (chunk * len(words))) if halved else chunk
        # one room for all chunks: the system takes longer to clear new pages than the products take
        room = words.new_empty(chunk, len(words))
        narrow_room = room.to(products)  # the same room where not halved
        errors = narrow_room.new_empty(min(several, len(targets)), len(words)) if halved and learning else room
        for group in _slices(0, len(targets), several):
            for part in _slices(group.start, group.stop, chunk):
                target = targets[part, None]  # (m, 1)
                torch.mm(narrow_states[part], narrow_words.T, out=narrow_room[: len(target)])
                logits = room[: len(target)]  # (m, V)
                if halved:
                    logits.copy_(narrow_room[: len(target)])
                logits += bias
                losses, right = _turned_to_odds(logits, target)
                loss, found = loss + losses, found + right
                if to_states is not None and to_bias is not None:
                    error = logits.scatter_add_(1, target, logits.new_full(target.shape, -1.0))
                    to_bias += error.sum(0)
                    if halved:
                        error = errors[part.start - group.start : part.stop - group.start].copy_(error)
                    to_states[part] = error @ narrow_words
            if to_words is not None:
                gathered = errors[: group.stop - group.start].T
                if halved:
                    to_words += gathered @ narrow_states[group]
                else:
                    to_words.addmm_(gathered, narrow_states[group])
        if learning:
            ctx.save_for_backward(to_states, to_words, to_bias)
        ctx.mark_non_differentiable(found)
        return loss.float(), found

    @staticmethod
    def backward(ctx: Any, gradient: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        to_states, to_words, to_bias = ctx.saved_tensors
        return to_states * gradient, to_words.mul_(gradient), to_bias * gradient, None, None


def _turned_to_odds(logits: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Turns logits into probabilities where they lie; gives the sum of the losses, and how many targets come first."""
    best, at_target = logits.amax(-1, keepdim=True), logits.gather(1, target)  # (m, 1) each
    odds = torch.softmax(logits, -1, out=logits)
    # log-sum-exp from the best word's probability, which cannot underflow as the target's can
    losses = best - odds.amax(-1, keepdim=True).log() - at_target
    return losses.double().sum(), (at_target >= best).sum()


def _slices(start: int, stop: int, step: int) -> list[slice]:
    """A range cut into slices of `step`, the last one shorter."""
    return [slice(begin, min(begin + step, stop)) for begin in range(start, stop, step)]
