"""ELMo learns from the same text as BERT: each direction is asked for the next piece on its side, and both count alike.

In: a corpus and settings. Out: an ELMo in its folder, and the mean of both directions' losses on held-out text.
"""

from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor, nn

from unmask.lab.timed_training import Ended, Training, train_in_time
from unmask.lab.workbench import Workbench
from unmask.model.config import BertConfig
from unmask.model.dropout import Chance
from unmask.model.elmo import Elmo, elmo_config, save_elmo
from unmask.model.masked_loss import masked_word_loss
from unmask.tasks.objectives import PretrainingBatch
from unmask.tasks.pretraining import Batches, PretrainingSettings, examination

# LSTMs learn by AdamW at a rate that Transformers do not stand
CHANGES = {"objective": "clm", "optimiser": "adamw", "learning_rate": 1e-2, "warmup": 0.06, "dropout": 0.0}
STEP_TOKENS = 1024  # half of what BERT takes a step: with two answers for every token each costs more


class BothSides(nn.Module):
    """An ELMo with its two questions: what comes next, and what came before."""

    def __init__(self, elmo: Elmo) -> None:
        super().__init__()
        self.elmo = elmo

    def forward(self, batch: PretrainingBatch, chance: Chance | None) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        """The mean of both directions' losses, summed over places, and how many pieces were the first choice."""
        _, ahead, back = self.elmo.directions(batch.ragged, chance)
        places, following = (torch.from_numpy(part) for part in (batch.positions, batch.targets))
        words, bias, norm = self.elmo.words.weight, self.elmo.bias, self.elmo.norm
        before = torch.from_numpy(batch.ragged.ids)[places]
        next_loss, next_found = masked_word_loss(norm(ahead[-1][places]), words, bias, following)
        # the token after an asked one is in the same sequence: it is asked for what stands before it
        last_loss, last_found = masked_word_loss(norm(back[-1][places + 1]), words, bias, before)
        return {"clm": (next_loss + last_loss) / 2}, {"clm_accuracy": (next_found + last_found) / 2}


def elmo_settings(bench: Workbench) -> PretrainingSettings:
    """Those of the experiment, by which LSTMs learn."""
    return PretrainingSettings(
        **{"batch_tokens": STEP_TOKENS, "part_tokens": STEP_TOKENS, **CHANGES, **bench.changes()}
    )


def train_elmo(bench: Workbench, folder: Path) -> Ended:
    """Trains, or goes on training, and saves."""
    corpus, settings = bench.corpus, elmo_settings(bench)
    width = BertConfig.named(bench.asked.size).width
    config = elmo_config(vocabulary_size=corpus.tokenizer.size, width=width, dropout=settings.dropout)
    questions = examination(corpus.store, corpus.held_out, corpus.tokenizer, settings) if len(corpus.held_out) else []
    training = Training(
        folder,
        lambda: BothSides(Elmo(config, settings.seed)),
        Batches(corpus.store, corpus.training, corpus.tokenizer, settings),
        questions,
        replace(settings, size=bench.asked.size, vocabulary=corpus.tokenizer.vocabulary_hash),
        save_every=bench.asked.save_every,
    )
    ended = train_in_time(training, "training ELMo", bench.share, bench.show, bench.stop)
    assert isinstance(ended.learner, BothSides)
    save_elmo(folder, ended.learner.elmo)
    return ended
