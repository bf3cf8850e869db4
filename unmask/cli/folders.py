"""The verbs about model folders: `convert` brings a published checkpoint in or out, `info` says what a folder holds."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unmask.cli.console import Answer, Console, verb
from unmask.errors import InputError

if TYPE_CHECKING:
    from unmask.model.folder import ModelFolder
    from unmask.runtime.folder import ServingFolder
    from unmask.text.tokenizer import Tokenizer

SHOWN = 5  # unused tensors named in words; the JSON names all


class Form(StrEnum):
    """What `convert` writes."""

    folder = "folder"
    tf1 = "tf1"


class Precision(StrEnum):
    """How weights are stored; they are opened in float32 in any case."""

    float32 = "float32"
    float16 = "float16"
    int8 = "int8"


@verb
def convert(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SRC",
            help="A model folder or name, a .bin or .safetensors file, or the prefix of a TensorFlow checkpoint.",
        ),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="The folder to write.")],
    to: Annotated[
        Form, typer.Option("--to", help="The published layout, or Google's TensorFlow checkpoint.")
    ] = Form.folder,
    dtype: Annotated[
        Precision,
        typer.Option("--dtype", help="Numbers as stored; float16 halves a folder, int8 again (read by unmask alone)."),
    ] = Precision.float32,
    base: Annotated[
        str | None,
        typer.Option("--base", metavar="MODEL", help="Store only what differs from this model, which must stay there."),
    ] = None,
    rows: Annotated[
        int | None,
        typer.Option(
            "--rows",
            min=1,
            help="With --base: pieces of its own at most, those that moved farthest; others are shared.",
        ),
    ] = None,
    checksums: Annotated[
        bool, typer.Option("--checksums", help="Also write checksums.txt, as sha256sum reads it.")
    ] = False,
    *,
    console: Console,
) -> Answer:
    """Turn any published BERT into a model folder, or a folder into Google's TensorFlow form."""
    from unmask.model.checksums import write_checksums
    from unmask.model.folder import count_parameters, open_model, save_google, save_model
    from unmask.model.named import find_model

    if to is Form.tf1 and (base or checksums):
        raise InputError("--base or --checksums with Google's form", wanted="a model folder", do="leave them out")
    if rows and not base:
        raise InputError(
            "--rows without --base", wanted="the model that lends the other rows", do="name it with --base"
        )
    console.note(f"reading {source}")
    path = find_model(source)
    opened = open_model(path)
    about = opened.about if opened.about.provenance else replace(opened.about, provenance=_origin(source, path))
    parts = (output, opened.config, opened.model, opened.tokenizer, about)
    if to is Form.tf1:
        save_google(*parts)
    else:
        save_model(*parts, dtype=dtype.value, base=base, base_rows=rows)
    if checksums:
        write_checksums(output)
    fields = {
        "folder": str(output),
        "form": to.value,
        "head": about.head,
        "parameters": count_parameters(opened.model),
        "bytes": _folder_size(output),
        "used": list(opened.report.used),
        "unused": list(opened.report.unused),
    }
    return Answer(fields, _converted_words(fields))


@verb
def info(
    model: Annotated[str, typer.Argument(metavar="DIR", help="A folder of a model or application, or a model's name.")],
    *,
    console: Console,
) -> Answer:
    """Say what a folder holds: size, task, labels, tokenizer, scores, where it comes from."""
    from unmask.apps.app_folder import read_app
    from unmask.model.named import find_model
    from unmask.runtime.folder import is_serving_folder

    folder = find_model(model)
    app = read_app(folder)
    if app is not None:
        fields = {"folder": str(folder), "bytes": _folder_size(folder), **app}
        return Answer(fields, _in_columns(_rows("", fields)))
    fields = _served_fields(folder) if is_serving_folder(folder) else _model_fields(folder, console)
    return Answer(fields, _info_words(fields))


def _model_fields(folder: Path, console: Console) -> dict[str, Any]:
    from unmask.model.folder import count_parameters, open_model
    from unmask.model.weights import stored_numbers

    opened = open_model(folder)
    if opened.report.unused:
        console.note(f"{len(opened.report.unused)} tensors beside the model are not used (named in --json)")
    return {
        "folder": str(folder),
        "parameters": count_parameters(opened.model),
        "stored_in": stored_numbers(folder),
        **_fields_of(folder, opened),
        "base": {"model": opened.base.model, "sha256": opened.base.sha256} if opened.base else {},
        "unused": list(opened.report.unused),
    }


def _served_fields(folder: Path) -> dict[str, Any]:
    from unmask.runtime.folder import open_serving

    opened = open_serving(folder)
    return {"folder": str(folder), "engine": opened.engine.name, **_fields_of(folder, opened)}


def _fields_of(folder: Path, opened: "ModelFolder | ServingFolder") -> dict[str, Any]:
    """What a folder of either kind says of itself."""
    tokenizer = _tokenizer_fields(opened.tokenizer)
    return {
        "bytes": _folder_size(folder),
        "config": asdict(opened.config),
        "tokenizer": tokenizer,
        **asdict(opened.about),
    }


def _origin(source: str, path: Path) -> dict[str, Any]:
    """Where a converted model comes from, so that it can be traced: the name and its weights' hash."""
    from unmask import __version__
    from unmask.files import sha256
    from unmask.model.weights import find_weights

    weights = find_weights(path)
    return {"converted_from": Path(source).name, "file": weights.name, "sha256": sha256(weights), "unmask": __version__}


def _folder_size(folder: Path) -> int:
    paths = folder.rglob("*") if folder.is_dir() else [folder]
    return sum(path.stat().st_size for path in paths if path.is_file())


def _tokenizer_fields(tokenizer: "Tokenizer") -> dict[str, Any]:
    return {
        "pieces": tokenizer.size,
        "cased": tokenizer.cased,
        "strip_accents": tokenizer.strip_accents,
        "split_chinese": tokenizer.split_chinese,
        "hash": tokenizer.vocabulary_hash,
    }


def _converted_words(fields: dict[str, Any]) -> str:
    unused = fields["unused"]
    lines = [
        f"{fields['folder']}: {fields['head'] or 'bare encoder'}, {fields['parameters']:,} parameters, "
        f"{fields['bytes'] / 1e6:,.1f} MB",
        f"{len(fields['used'])} tensors used, {len(unused)} unused" + (":" if unused else ""),
        *(f"  {name}" for name in unused[:SHOWN]),
    ]
    if len(unused) > SHOWN:
        lines.append(f"  and {len(unused) - SHOWN} more (all with --json)")
    return "\n".join(lines)


def _info_words(fields: dict[str, Any]) -> str:
    shape, tokenizer = fields["config"], fields["tokenizer"]
    parameters = f"{fields['parameters']:,} parameters, " if "parameters" in fields else ""
    stored = f", stored in {fields['stored_in']}" if fields.get("stored_in") else ""
    rows = {
        "folder": fields["folder"],
        "head": fields["head"] or "none: a bare encoder",
        "task": fields["task"],
        "labels": ", ".join(fields["labels"]),
        "size": f"{parameters}{fields['bytes'] / 1e6:,.1f} MB{stored}",
        "engine": fields.get("engine", ""),
        "base": f"{fields['base']['model']}, which lends what is not stored here" if fields.get("base") else "",
        "shape": f"{shape['layers']} layers, width {shape['width']}, {shape['heads']} heads, "
        f"{shape['positions']} positions",
        "tokenizer": f"{tokenizer['pieces']:,} pieces, {'cased' if tokenizer['cased'] else 'uncased'}",
        "pooling": fields["pooling"] if fields["head"] == "embedding" else "",
        **_rows("score", fields["scores"]),
        **_rows("from", fields["provenance"]),
    }
    return _in_columns(rows)


def _in_columns(rows: Mapping[str, str]) -> str:
    shown = {name: value for name, value in rows.items() if value != ""}
    width = max(map(len, shown))
    return "\n".join(f"{name:<{width}}  {value}" for name, value in shown.items())


def _rows(title: str, values: Mapping[str, Any]) -> dict[str, str]:
    """A row for each value, those of values within values too.

    >>> _rows("from", {"tokens": 12000, "settings": {"size": "mini", "lengths": (128, 512)}})
    {'from tokens': '12,000', 'from settings size': 'mini', 'from settings lengths': '128, 512'}
    """
    rows: dict[str, str] = {}
    for name, value in values.items():
        row = f"{title} {name}".strip()
        rows |= _rows(row, value) if isinstance(value, Mapping) else {row: _plain(value)}
    return rows


def _plain(value: Any) -> str:
    """A value as people read it: four digits of a fraction, lists with commas, nothing for none."""
    if value is None:
        return ""
    if isinstance(value, Mapping):
        return ": ".join(_plain(part) for part in value.values())
    if isinstance(value, list | tuple):
        return ", ".join(_plain(part) for part in value)
    if isinstance(value, float):
        return f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
