"""A compression from request to folder: model opened, recipe chosen, carried out, written, measured and reported."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from unmask.compress.choose import Target, Tried, choose
from unmask.compress.learning import OnStep
from unmask.compress.material import Material, read_material
from unmask.compress.recipe import Means, Recipe, carry_out, total_bytes, with_provenance, write
from unmask.compress.report import Measured, measure, write_report
from unmask.compress.variant import of_model, open_variant, score, task_for
from unmask.errors import InputError
from unmask.model.folder import ModelFolder, open_model
from unmask.model.named import find_model
from unmask.runtime.folder import is_serving_folder

MOST_LOST = 0.05  # of the score: what costs more is not written unless asked for


@dataclass(frozen=True)
class Request:
    """What a user asks for."""

    model: str
    folder: Path
    recipe: Recipe = field(default_factory=Recipe)
    target: Target | None = None
    data: Path | None = None
    dev: Path | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    changes: Mapping[str, Any] = field(default_factory=dict)  # of the settings of what is learned
    beside: tuple[Path, ...] = ()  # other folders of the same task for the report
    force: bool = False
    seed: int = 0


@dataclass(frozen=True)
class Compressed:
    """What came of it."""

    folder: str
    recipe: str
    bytes_before: int
    bytes_after: int
    speedup: float  # in texts a second
    metric: str | None
    score_before: float | None
    score_after: float | None
    variants: tuple[Measured, ...]
    tried: tuple[Tried, ...]

    def to_dict(self) -> dict[str, Any]:
        """The answer as JSON has it."""
        told = {**vars(self), "variants": [vars(one) for one in self.variants]}
        return told | {"tried": [str(one) for one in self.tried]}


def compress(
    request: Request, note: Callable[[str], None] = lambda _: None, on_step: OnStep = lambda *_: None
) -> Compressed:
    """Makes the smaller folder, and says what was gained and lost."""
    source = find_model(request.model)
    _check(request, source)
    opened = open_model(request.model)
    task = task_for(opened.about, opened.config.positions)
    material = read_material(opened.about, task, request.data, request.dev, request.columns, request.seed)
    for line in material.notes:
        note(line)
    changes = {**request.changes, "seed": request.seed}
    work = request.folder.resolve().parent / f".{request.folder.name}.work"
    means = Means(material, work, changes, note, on_step)
    recipe = request.recipe
    tried: list[Tried] = []
    if request.target is not None:
        recipe, tried = choose(opened, source, request.target, recipe.trim, material.timed, means)
        note(f"chosen: {recipe.name}, the first of {len(tried)} that reaches the target")
    made = carry_out(recipe, opened, means)
    scores = _write(request, recipe, opened, made, material)
    folders = {"before": source, **{path.name: path for path in request.beside}, "after": request.folder}
    sizes = {name: total_bytes(folder) for name, folder in folders.items()}
    measured = measure(folders, sizes, material.timed, scores=scores, note=note)
    result = _result(request, recipe, measured, tried)
    write_report(request.folder, measured, recipe=recipe.name, tried=[str(one) for one in tried])
    return result


def _check(request: Request, source: Path) -> None:
    """What can be refused before any work."""
    if is_serving_folder(source):
        raise InputError(f"{source}, a serving folder", wanted="the model folder that it was made from")
    if request.folder.resolve() == source.resolve():
        raise InputError(f"-o {request.folder}, the model itself", wanted="another folder")
    if len({"before", "after", *(path.name for path in request.beside)}) != len(request.beside) + 2:
        raise InputError("--beside with names that are alike", wanted="folders that can be told apart by their names")
    if request.target is None and request.recipe == Recipe():
        raise InputError("nothing to do", wanted="--int8, --layers, --heads, --distil-to, --trim-vocab or a target")
    if request.recipe.distil_to and request.recipe.prunes:
        raise InputError("a student and pruning at once", wanted="one of them", do="compress the student again")


def _write(
    request: Request, recipe: Recipe, opened: ModelFolder, made: ModelFolder, material: Material
) -> dict[str, tuple[str, float]]:
    """Writes the folder unless too much is lost; gives the scores before and after, where there is something to ask."""
    if not material.dev:
        write(recipe, with_provenance(made, request.model, recipe, {}), request.folder, force=request.force)
        return {}
    ask = partial(score, examples=material.dev, labelled=material.scored, beside=of_model(opened))
    before, learned = ask(of_model(opened)), ask(of_model(made))
    lost = before[1] - learned[1]
    if lost > MOST_LOST and not request.force:
        raise InputError(
            f"a model that loses {100 * lost:.1f} points of {before[0]}",
            wanted=f"at most {100 * MOST_LOST:.0f}",
            do="compress less, give more --data or --epochs, or take the loss with --force",
        )
    told = {learned[0]: learned[1]} if recipe.form == "model" else {}
    examples = material.dev if material.scored else ()
    whole = with_provenance(made, request.model, recipe, told)
    write(recipe, whole, request.folder, examples=examples, force=request.force)
    others = {path.name: ask(open_variant(path)) for path in request.beside}
    return {"before": before, **others, "after": ask(open_variant(request.folder))}


def _result(request: Request, recipe: Recipe, measured: list[Measured], tried: list[Tried]) -> Compressed:
    before, *_, after = measured
    return Compressed(
        folder=str(request.folder),
        recipe=recipe.name,
        bytes_before=before.bytes,
        bytes_after=after.bytes,
        speedup=round(after.texts_per_second / before.texts_per_second, 3),
        metric=after.metric,
        score_before=before.score,
        score_after=after.score,
        variants=tuple(measured),
        tried=tuple(tried),
    )
