"""How well a reader learns the task from an encoder that no model folder holds: ELMo's layers under a BiLSTM.

The examples, the task and the recipe are those that a fine-tuning of a model folder with the same vocabulary has read.
"""

from dataclasses import replace
from pathlib import Path
from typing import cast

from torch import nn

from unmask.lab.workbench import Tuned, Workbench, tokens_read
from unmask.model.bert import Bert
from unmask.model.config import BertConfig
from unmask.model.feature_heads import make_feature_head
from unmask.model.heads import BertWithHead
from unmask.tasks.finetuning import FineTuning
from unmask.tasks.finetuning_run import FineTuningRun
from unmask.tasks.starting import weights_hash


def read_frozen(bench: Workbench, name: str, encoder: nn.Module, alike: Path, features: str, reader: str) -> Tuned:
    """Learns a reader of an encoder's layers; `alike` is a model folder whose examples it takes, and nothing else."""
    given = FineTuningRun(bench.tuning_request(f"{name}-examples", str(alike), features="embeddings", reader=reader))
    settings = replace(given.settings, features=features, model=weights_hash(encoder))
    task, config = given.task, cast(BertConfig, encoder.config)
    head = make_feature_head(task.head, config, settings.read, outputs=task.outputs, seed=settings.seed + 1)
    # an encoder like another to whoever reads its layers
    model = BertWithHead(cast(Bert, encoder), head)
    folder = bench.asked.folder / "tuned" / name
    tuning = FineTuning(
        folder,
        task,
        model,
        bench.corpus.tokenizer,
        given.training,
        given.dev,
        settings,
        save_every=bench.asked.save_every,
    )
    tuning.resume(bench.note)
    with bench.show(f"reading {name}") as told:
        for at in tuning.train(stop=bench.stop):
            told(at.step.number, at.steps, {"loss": f"{at.step.loss:.3f}"})
    outputs = tuning.outputs(bench.stop)
    fitted = task.calibrated(given.dev, tuning.dev_rows, outputs)
    scores = fitted.scores(given.dev, fitted.answers(given.dev, tuning.dev_rows, outputs))
    said = {"metric": fitted.metric, "epochs": settings.epochs, "task_learning_rate": settings.learning_rate}
    said |= {"examples": len(given.training), "dev_examples": len(given.dev)}
    return Tuned(scores[fitted.metric], said, tuning.run.spent, tuning.run.step, tokens_read(folder))
