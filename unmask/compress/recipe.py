"""What is done to a model to make it smaller, and in which order: an opened model and a recipe in, a smaller one out.

The vocabulary is trimmed first, because that loses nothing on the user's text and makes all that follows cheaper; then
parts are taken out or a student is taught; numbers are rounded last, since nothing can learn after that.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from unmask.compress.agreement import agreement
from unmask.compress.distil import Teaching
from unmask.compress.importance import Importance, importance, importance_by_weights
from unmask.compress.learning import AGAIN, OnStep, distil, learn, teach, usual_settings
from unmask.compress.material import Material
from unmask.compress.prune import best_heads, best_neurons, keep_heads, keep_layers, keep_neurons, layer_choices
from unmask.compress.static import static_vectors
from unmask.compress.student import parse_size, student_of
from unmask.compress.trim import count_pieces, trim
from unmask.errors import InputError
from unmask.model.about import About
from unmask.model.bert import Bert
from unmask.model.folder import ModelFolder, save_model
from unmask.model.heads import BertWithHead, Embedding, Pretraining
from unmask.model.names import POOLED_HEADS, LoadReport
from unmask.model.outputs import outputs_of
from unmask.tasks.finetuning import PART_TOKENS, divided, units
from unmask.tasks.task import Task, make_batch
from unmask.text.documents import read_texts

STATIC = "static"
STATIC_WIDTH = 256
MODEL_FILES = (".safetensors", ".bin", ".onnx", ".json", ".txt")
JUDGING = 512  # examples by which parts are weighed
LIKE_BEFORE = Teaching(hidden=0.0)  # a pruned model is taught by what it was; its layers are no longer the same ones


@dataclass(frozen=True)
class Recipe:
    """What is to be done; nothing of it unless asked for."""

    trim: tuple[Path, ...] = ()  # texts whose pieces stay
    layers: int | None = None  # to keep
    heads: float | None = None  # share to keep
    neurons: float | None = None  # share to keep
    distil_to: str | None = None  # a size, or static
    form: str = "model"  # or a serving folder: onnx, int8

    @property
    def name(self) -> str:
        """For people.

        >>> Recipe(layers=2, heads=0.5, form="int8").name
        '2 layers, 50 % of heads, int8'
        """
        parts = [
            "trimmed" if self.trim else "",
            f"{self.layers} layer{'s' if self.layers > 1 else ''}" if self.layers else "",
            f"{self.heads:.0%} of heads".replace("%", " %") if self.heads else "",
            f"{self.neurons:.0%} of neurons".replace("%", " %") if self.neurons else "",
            f"distilled to {self.distil_to}" if self.distil_to else "",
            "" if self.form == "model" else self.form,
        ]
        return ", ".join(part for part in parts if part) or "as it is"

    @property
    def prunes(self) -> bool:
        """Whether parts are taken out."""
        return bool(self.layers or self.heads or self.neurons)

    @property
    def learns(self) -> bool:
        """Whether examples are needed for more than weighing parts."""
        return bool(self.distil_to and self.distil_to != STATIC)


@dataclass(frozen=True)
class Means:
    """What a recipe is carried out with."""

    material: Material
    work: Path  # a folder for what is not finished; gone at the end
    changes: Mapping[str, Any]  # of the settings of what is learned
    note: Callable[[str], None] = lambda _: None
    on_step: OnStep = lambda *_: None
    learns: bool = True  # if not, a model of the same shape is made that has not learned yet, to be measured


def carry_out(recipe: Recipe, opened: ModelFolder, means: Means) -> ModelFolder:
    """The smaller model, in torch."""
    if recipe.trim:
        model, tokenizer = trim(opened.model, opened.tokenizer, read_texts(recipe.trim))
        means.note(f"vocabulary: {opened.tokenizer.size:,} pieces, {tokenizer.size:,} of them needed")
        opened = _changed(opened, model, tokenizer=tokenizer)
    if recipe.distil_to == STATIC:
        return _made_static(opened, means.material)
    if recipe.distil_to:
        return _distilled(opened, recipe.distil_to, means)
    return _pruned(opened, recipe, means) if recipe.prunes else opened


def write(
    recipe: Recipe, made: ModelFolder, folder: Path, *, examples: Sequence[Any] = (), force: bool = False
) -> None:
    """Writes the folder in the recipe's form; labelled examples of its task say what int8 costs."""
    if recipe.form == "model":
        save_model(folder, made.config, made.model, made.tokenizer, made.about)
    elif recipe.form == "onnx":
        from unmask.compress.export import export

        export(made, folder)
    else:
        from unmask.compress.quantize import quantize

        quantize(made, folder, examples=examples, force=force)


def _changed(opened: ModelFolder, model: BertWithHead | Bert, **changes: Any) -> ModelFolder:
    bert = model.bert if isinstance(model, BertWithHead) else model
    return replace(opened, config=bert.config, model=model, report=LoadReport(), **changes)


def _pruned(opened: ModelFolder, recipe: Recipe, means: Means) -> ModelFolder:
    """The model without its least important parts, used to it by learning again where there are examples."""
    material, task = means.material, means.material.task
    model = opened.model
    if recipe.layers:
        model = _fewer_layers(opened, task, recipe.layers, means)
    if recipe.heads:
        model = keep_heads(model, best_heads(_weighed(model, task, material, opened).heads, recipe.heads))
    if recipe.neurons:
        model = keep_neurons(model, best_neurons(_weighed(model, task, material, opened).neurons, recipe.neurons))
    if means.learns and material.training:
        _learn_again(opened, model, task, means)
    return _changed(opened, model)


def _fewer_layers(opened: ModelFolder, task: Task, keep: int, means: Means) -> BertWithHead | Bert:
    """The choice of layers that does least harm on the examples; evenly spread ones where there are none to tell."""
    choices = layer_choices(_weighed(opened.model, task, means.material, opened).layers, keep)
    if not means.learns or not means.material.training or task.head == "masked_words":
        return keep_layers(opened.model, next(iter(choices.values())))
    found = {name: keep_layers(opened.model, layers) for name, layers in choices.items()}
    harms = {name: _harm(model, opened, task, means.material) for name, model in found.items()}
    told = ", ".join(f"{name} {list(choices[name])}: {harm:.3f}" for name, harm in harms.items())
    figure = "loss" if means.material.labelled else "disagreement"
    means.note(f"layers by their {figure} before learning again: {told}")
    return found[min(harms, key=harms.__getitem__)]


def _harm(model: BertWithHead | Bert, opened: ModelFolder, task: Task, material: Material) -> float:
    """The loss on labelled examples; without labels, how far the answers are from those of the whole model."""
    examples = material.training[:JUDGING]
    if material.labelled and isinstance(model, BertWithHead):
        return mean_loss(model, task, examples, opened)
    rows = task.rows(examples, opened.tokenizer)
    given, expected = (outputs_of(_speaking(one), rows) for one in (model, opened.model))
    return 1 - agreement(given, expected, task.head)


def _weighed(model: BertWithHead | Bert, task: Task, material: Material, opened: ModelFolder) -> Importance:
    """How important parts are, by labelled examples, or without them by their weights."""
    if not material.labelled or not isinstance(model, BertWithHead):
        return importance_by_weights(model.bert if isinstance(model, BertWithHead) else model)
    return importance(model, task, task.rows(material.training[:JUDGING], opened.tokenizer))


def mean_loss(model: BertWithHead, task: Task, examples: Sequence[Any], opened: ModelFolder) -> float:
    """The loss on labelled examples, the mean over their labels."""
    total = count = 0.0
    for part in divided(units(task.rows(examples, opened.tokenizer), together=task.together), PART_TOKENS):
        batch = make_batch(part, task.per_token)
        with torch.inference_mode():
            losses, _ = task.losses(model(batch.ragged), batch)
        total += float(sum(losses.values()))
        count += sum(task.counts(batch).values())
    return total / count if count else math.nan


def _learn_again(opened: ModelFolder, model: BertWithHead | Bert, task: Task, means: Means) -> None:
    """By labels where there are some, else by the answers of the model as it was."""
    material, settings = means.material, replace(AGAIN, **means.changes)
    said: dict[str, Any] = {"on_step": means.on_step}
    student = _speaking(model)
    examples = (opened.tokenizer, material.training, material.dev)
    if material.labelled:
        examples = (*examples[:2], material.dev if material.scored else ())
        learn(means.work, task, student, *examples, settings, **said)
    else:
        teach(
            means.work,
            _speaking(opened.model),
            student,
            task,
            *examples,
            replace(settings, dropout=0.0),
            labelled=False,
            scored=material.scored,
            teaching=LIKE_BEFORE,
            **said,
        )
    model.eval()


def _distilled(opened: ModelFolder, size: str, means: Means) -> ModelFolder:
    """A student of the size, with the teacher's task."""
    material, task = means.material, means.material.task
    teacher, shape = _speaking(opened.model), parse_size(size, opened.config)
    shape = replace(shape, pooler=shape.pooler or task.head in POOLED_HEADS)
    settings = replace(usual_settings(opened.config, shape), **means.changes)
    if not means.learns:
        student = student_of(teacher, shape, task, settings.seed)
    elif not material.training:
        raise InputError("--distil-to without --data", wanted="texts, or examples of the task, to teach on")
    else:
        examples = (opened.tokenizer, material.training, material.dev)
        said: dict[str, Any] = {"labelled": material.labelled, "scored": material.scored, "on_step": means.on_step}
        student = distil(means.work, teacher, shape, task, *examples, settings, **said)
    if opened.about.head is None:
        return _changed(opened, student.bert)
    head = "masked_words" if task.head == "masked_words" else opened.about.head
    return _changed(opened, student, about=replace(opened.about, head=head, features={}))


def _made_static(opened: ModelFolder, material: Material) -> ModelFolder:
    """A table of vectors; pieces that are frequent in the material count less."""
    if opened.about.head not in (None, "embedding"):
        raise InputError(
            f"--distil-to static of a model for {opened.about.task or opened.about.head}", wanted="vectors"
        )
    texts = [text for example in material.training for text in (example.text, example.pair) if text]
    counts = count_pieces(opened.tokenizer, texts) if texts else None
    width = min(STATIC_WIDTH, opened.config.width)
    bert = opened.bert
    model = static_vectors(bert, opened.tokenizer, width=width, pooling=opened.about.pooling, counts=counts)
    about = replace(opened.about, head="embedding", pooling="mean", normalise=True)
    return _changed(opened, model, about=about)


def _speaking(model: BertWithHead | Bert) -> BertWithHead:
    """The model with the head by which it teaches and is taught, its weights shared with the model given."""
    if not isinstance(model, BertWithHead):
        return BertWithHead(model, Embedding("mean"))
    return BertWithHead(model.bert, model.head.words) if isinstance(model.head, Pretraining) else model


def with_provenance(made: ModelFolder, source: str, recipe: Recipe, scores: Mapping[str, float]) -> ModelFolder:
    """The model with what was done to it in its folder's own words."""
    about: About = made.about
    before = {"start": about.provenance.get("start")} if about.provenance.get("start") else {}
    told = {"compressed": recipe.name, "from": source, **before}
    return replace(made, about=replace(about, scores=dict(scores), provenance=told))


def total_bytes(folder: Path) -> int:
    """The size of a model on disk: weights, configuration and tokenizer, not what tells of its making."""
    if folder.is_file():
        return folder.stat().st_size
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and path.suffix in MODEL_FILES)
