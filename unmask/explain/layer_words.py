"""What would layer k say? A text with [MASK]s in, the words that the model's own head reads off every layer out.

The masked-word head was trained on the last layer alone. Read off a lower one (nostalgebraist's "logit lens", 2020) it
shows from where on the answer stands; where a low layer speaks another language than the last, its words say little.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from unmask.data.batches import batches_by_length
from unmask.data.chance import generator
from unmask.data.ragged import Integers, Ragged, pack
from unmask.errors import InputError
from unmask.model.folder import ModelFolder
from unmask.model.heads import BertWithHead, MaskedWords, masked_words_in
from unmask.text.tokenizer import Tokenizer


@dataclass(frozen=True)
class LayerSays:
    """What one layer would put at a mask; layer 0 is the embeddings."""

    layer: int
    candidates: tuple[tuple[str, float], ...]  # pieces with their probabilities, the likeliest first
    rank: int  # of the model's own answer, from 1 on
    probability: float  # of the same


@dataclass(frozen=True)
class LayerWords:
    """What every layer would put at one mask of a text."""

    text: str
    start: int  # of the mask in the text
    end: int
    answer: str  # what the whole model says
    rows: tuple[LayerSays, ...]

    def to_dict(self) -> dict[str, Any]:
        """The answer as JSON has it."""
        rows = [
            {**asdict(row), "candidates": [{"token": token, "probability": p} for token, p in row.candidates]}
            for row in self.rows
        ]
        return {**asdict(self), "rows": rows}

    def in_words(self) -> str:
        """The same for a terminal, a layer a line."""
        lines = [f"{self.text[: self.start]}»{self.answer}«{self.text[self.end :]}"]
        for row in self.rows:
            said = ", ".join(f"{token} {probability:.2f}" for token, probability in row.candidates)
            lines.append(f"layer {row.layer}: {said}  ({self.answer}: rank {row.rank:,})")
        return "\n".join(lines)


@dataclass(frozen=True)
class LayerAccuracy:
    """How often a layer's likeliest word is the hidden one."""

    layer: int
    accuracy: float
    log_probability: float  # of the hidden word, the mean


def masked_words_of(opened: ModelFolder) -> MaskedWords:
    """The masked-word head of a model, which must have one."""
    words = masked_words_in(opened.model.head if isinstance(opened.model, BertWithHead) else None)
    if words is None:
        raise InputError(
            "a model without a masked-word head",
            wanted="a pretrained one",
            do="use `default`, or a pretraining's folder",
        )
    return words


def layer_words(opened: ModelFolder, text: str, *, top: int = 5) -> list[LayerWords]:
    """What every layer would put at each mask of a text."""
    tokenizer = opened.tokenizer
    encoding = tokenizer.encode(text, max_length=opened.config.positions)
    places = [place for place, id in enumerate(encoding.ids) if id == tokenizer.mask_id]
    if not places:
        raise InputError("a text without [MASK]", wanted="[MASK] at each place to fill")
    with torch.inference_mode():
        layers = opened.bert(pack([encoding.ids], [encoding.segments]), keep_layers=True).layers
        said = [_log_probabilities(opened, layer[places]) for layer in layers]  # (M, V) each
    found = []
    for number, place in enumerate(places):
        answer = int(said[-1][number].argmax())
        rows = [_says(layer, logs[number], answer, tokenizer, top) for layer, logs in enumerate(said)]
        found.append(LayerWords(text, *encoding.offsets[place], tokenizer.pieces[answer], tuple(rows)))
    return found


def _says(layer: int, logs: Tensor, answer: int, tokenizer: Tokenizer, top: int) -> LayerSays:
    best = logs.topk(min(top, len(logs)))
    pairs = zip(best.indices.tolist(), best.values.exp().tolist(), strict=True)
    candidates = [(tokenizer.pieces[id], probability) for id, probability in pairs]
    rank = int((logs > logs[answer]).sum()) + 1
    return LayerSays(layer, tuple(candidates), rank, float(logs[answer].exp()))


def layer_accuracy(opened: ModelFolder, texts: Sequence[str], *, seed: int = 0) -> list[LayerAccuracy]:
    """How well every layer finds hidden words: one piece of each text is masked by chance."""
    hidden = list(_hidden(opened.tokenizer, texts, opened.config.positions, seed))
    if not hidden:
        raise InputError("no text with a word to hide", wanted="texts with words of the vocabulary")
    logs: list[Tensor] = []
    for which, batch in batches_by_length([ids for ids, _, _ in hidden]):
        rows = batch.starts + np.array([hidden[i][1] for i in which[batch.order]])
        answers = torch.tensor([hidden[i][2] for i in which[batch.order]])
        logs.append(_asked(opened, batch, rows, answers))
    told = torch.cat(logs, 1).double().mean(1)  # (layers + 1, 2)
    return [LayerAccuracy(layer, *row) for layer, row in enumerate(told.tolist())]


def _asked(opened: ModelFolder, batch: Ragged, rows: Integers, answers: Tensor) -> Tensor:
    """Whether each layer finds each hidden word, and its log-probability."""  # (layers + 1, B, 2)
    told = []
    with torch.inference_mode():
        for layer in opened.bert(batch, keep_layers=True).layers:
            logs = _log_probabilities(opened, layer[torch.from_numpy(rows)])  # (B, V)
            own = logs.gather(1, answers.to(logs.device)[:, None])[:, 0]
            told.append(torch.stack([(own >= logs.amax(1)).float(), own], 1).cpu())
    return torch.stack(told)


def _hidden(
    tokenizer: Tokenizer, texts: Iterable[str], positions: int, seed: int
) -> Iterator[tuple[list[int], int, int]]:
    """Pieces with one of them masked, where it is, and which it was: a word of one piece, which a head can say."""
    for number, text in enumerate(texts):
        encoding = tokenizer.encode(text, max_length=positions)
        words = list(encoding.word_ids)
        able = [
            place
            for place, word in enumerate(words)
            if word is not None and words.count(word) == 1 and encoding.ids[place] != tokenizer.unknown_id
        ]
        if able:
            place = able[int(generator(seed, number).integers(len(able)))]
            ids = list(encoding.ids)
            ids[place] = tokenizer.mask_id
            yield ids, place, encoding.ids[place]


def _log_probabilities(opened: ModelFolder, states: Tensor) -> Tensor:
    """What the masked-word head says of some states, over the pieces that there are."""  # (M, D) -> (M, V)
    head, bert = masked_words_of(opened), opened.bert
    logits = F.linear(head.states(states), bert.embeddings.words.weight, head.bias)
    return torch.log_softmax(logits[:, : opened.tokenizer.size].float(), -1)
