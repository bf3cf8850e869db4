"""A model that learns in the course of being compressed: again after parts were taken out, or from a teacher.

A task, a model and examples in; the model has learned afterwards, through the one loop, and resumes if interrupted.
"""

import hashlib
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from unmask.compress.distil import Distilled, Distilling, Teaching
from unmask.compress.student import student_of
from unmask.files import write_text
from unmask.model.config import BertConfig
from unmask.model.heads import BertWithHead
from unmask.model.outputs import outputs_of
from unmask.tasks.finetuning import FineTuning, FineTuningSettings, MakeLearner, Standing, TaskLearner
from unmask.tasks.task import Task
from unmask.text.tokenizer import Tokenizer
from unmask.training.same_settings import SETTINGS, check_same_settings

OnStep = Callable[[Standing, int], None]  # where it stands, and of how many steps
AGAIN = FineTuningSettings(epochs=1.0)  # after parts were taken out: what stays only has to get used to it
COPIED = FineTuningSettings(epochs=3.0, learning_rate=1e-4, dropout=0.0)  # a student made of its teacher's layers
ALL_LESSONS = Teaching()
FRESH = FineTuningSettings(epochs=10.0, learning_rate=1e-3, dropout=0.0)  # a student of another width


def learn(
    folder: Path,
    task: Task,
    model: BertWithHead,
    tokenizer: Tokenizer,
    training: Sequence[Any],
    dev: Sequence[Any],
    settings: FineTuningSettings = AGAIN,
    *,
    make_learner: MakeLearner = TaskLearner,
    on_step: OnStep = lambda *_: None,
) -> None:
    """Trains the model in place; with dev examples it ends with the weights that were best on them."""
    known = repr((task.kind, training, dev)).encode()
    settings = replace(settings, model=_hash(model), data=hashlib.sha256(known).hexdigest())
    check_same_settings(folder, settings)
    tuning = FineTuning(folder, task, model, tokenizer, training, dev, settings, make_learner=make_learner)
    tuning.resume()
    write_text(folder / SETTINGS, settings.to_json())
    for standing in tuning.train():
        on_step(standing, tuning.steps)
    shutil.rmtree(folder)


def teach(
    folder: Path,
    teacher: BertWithHead,
    student: BertWithHead,
    task: Task,
    tokenizer: Tokenizer,
    training: Sequence[Any],
    dev: Sequence[Any],
    settings: FineTuningSettings,
    *,
    labelled: bool,
    scored: bool,
    teaching: Teaching = ALL_LESSONS,
    on_step: OnStep = lambda *_: None,
) -> None:
    """Trains a student in place by its teacher; examples and dev examples (`scored`) may have labels or none."""
    wrapped = Distilled(task, teaching, labelled)
    if task.head == "masked_words":
        dev = ()  # scores of all words for all tokens would not fit into memory
    if dev and not scored:
        wrapped = replace(wrapped, expected=tuple(outputs_of(teacher, wrapped.rows(dev, tokenizer))))
    make_learner = partial(Distilling, teacher=teacher, tokenizer=tokenizer)
    learn(folder, wrapped, student, tokenizer, training, dev, settings, make_learner=make_learner, on_step=on_step)


def distil(
    folder: Path,
    teacher: BertWithHead,
    shape: BertConfig,
    task: Task,
    tokenizer: Tokenizer,
    training: Sequence[Any],
    dev: Sequence[Any],
    settings: FineTuningSettings | None = None,
    *,
    labelled: bool,
    scored: bool,
    teaching: Teaching = ALL_LESSONS,
    on_step: OnStep = lambda *_: None,
) -> BertWithHead:
    """A student of this shape, taught by the teacher."""
    settings = settings or usual_settings(teacher.bert.config, shape)
    student = student_of(teacher, shape, task, settings.seed)
    teach(
        folder,
        teacher,
        student,
        task,
        tokenizer,
        training,
        dev,
        settings,
        labelled=labelled,
        scored=scored,
        teaching=teaching,
        on_step=on_step,
    )
    return student.eval()


def _hash(model: BertWithHead) -> str:
    """Tells the weights that a model starts with from others."""
    digest = hashlib.sha256()
    for tensor in model.state_dict().values():
        digest.update(tensor.detach().cpu().contiguous().view(torch.uint8).numpy().data)
    return digest.hexdigest()


def usual_settings(teacher: BertConfig, student: BertConfig) -> FineTuningSettings:
    """The settings for a student that starts with its teacher's layers, or without.

    >>> usual_settings(BertConfig.named("base"), BertConfig.named("tiny")).epochs
    10.0
    """
    return COPIED if teacher.width == student.width else FRESH
