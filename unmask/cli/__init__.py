"""The command `unmask`: one table, verb -> function. Only flags, progress and printing live in this room."""

import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer

from unmask import __version__
from unmask.cli import (
    apps,
    ask,
    bench,
    bias,
    chat,
    compress,
    doctor,
    documents,
    evaluate,
    explain,
    export,
    faq,
    finetune,
    folders,
    lab,
    predict,
    prepare,
    pretrain,
    probe,
    search,
    sentiment,
    serve,
    tag,
    vocab,
)
from unmask.cli.extras import missing_extra
from unmask.cli.groups import with_default
from unmask.errors import InputError

VERBS: dict[str, Callable[..., Any]] = {
    "prepare": prepare.prepare,
    "pretrain": pretrain.pretrain,
    "finetune": finetune.finetune,
    "doctor": doctor.doctor,
    "fill": apps.fill,
    "score": apps.score,
    "next": apps.next_sentence,
    "features": apps.features,
    "ask": ask.ask,
    "classify": sentiment.classify,
    "sentiment": sentiment.sentiment,
    "tag": tag.tag,
    "evaluate": evaluate.evaluate,
    "predict": predict.predict,
    "explain": explain.explain,
    "probe": probe.probe,
    "bias": bias.bias,
    "compress": compress.compress,
    "export": export.export,
    "lab": lab.lab,
    "search": search.search,
    "similar": search.similar,
    "cluster": search.cluster,
    "serve": serve.serve,
    "convert": folders.convert,
    "info": folders.info,
}
GROUPS: dict[str, dict[str, Callable[..., Any]]] = {
    "bench": {
        "start": bench.start,
        "pretrain": bench.pretrain,
        "learning": bench.learning,
        "finetune": bench.finetune,
        "predict": bench.predict,
        "serve": bench.serve,
    },
    "chat": {"talk": chat.talk, "train": chat.train, "evaluate": chat.evaluate},
    "documents": {"index": documents.index, "update": documents.update, "text": documents.text},
    "faq": {"ask": faq.ask, "build": faq.build, "tune": faq.tune, "evaluate": faq.evaluate},
    "vocab": {"learn": vocab.learn, "check": vocab.check},
}


def build() -> typer.Typer:
    """The whole command as typer sees it."""
    app = typer.Typer(
        name="unmask",
        add_completion=False,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_of_all_verbs)
    for name, function in VERBS.items():
        app.command(name)(function)
    for name, verbs in GROUPS.items():
        default = with_default(DEFAULTS[name]) if name in DEFAULTS else None
        group = typer.Typer(no_args_is_help=name not in ALONE, cls=default)
        for verb_name, function in verbs.items():
            group.command(verb_name)(function)
        app.add_typer(group, name=name, help=GROUP_HELP[name])
    return app


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"unmask {__version__}")
        raise typer.Exit


def _of_all_verbs(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """BERT, end to end, on the machine you have."""


DEFAULTS = {"chat": "talk", "faq": "ask"}  # the verb that is meant where none is named
INTERRUPTED = 130
ALONE = {"chat"}  # groups whose verb is meant even where nothing at all is said
GROUP_HELP = {
    "bench": "Measure this machine, in turns with another library.",
    "chat": "Talk to a chat, or make one from dialogues and measure it; `unmask chat` alone talks.",
    "documents": "Index documents, to be asked with `unmask ask QUESTION --in INDEX`.",
    "faq": "Ask an FAQ, or make, tune and measure one; `unmask faq DIR QUESTION` asks.",
    "vocab": "Learn a WordPiece vocabulary, or check one against text.",
}


def main() -> None:
    """Runs the command; bad input is one line and status 2, an interruption is status 130."""
    try:
        status = build()(standalone_mode=False) or 0
        if status == INTERRUPTED:  # typer has caught it, and says nothing
            raise KeyboardInterrupt
        raise SystemExit(status)
    except InputError as error:
        print(f"unmask: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    except ModuleNotFoundError as error:
        line = missing_extra(error)
        if line is None:
            raise
        print(f"unmask: {line}", file=sys.stderr)
        raise SystemExit(2) from None
    except BrokenPipeError:  # the reader of our output has seen enough
        sys.stdout = None
        raise SystemExit(0) from None
    except OSError as error:  # a full disk, a folder without permission: the system's own words
        print(f"unmask: {error.filename or 'writing'}: {error.strerror or error}", file=sys.stderr)
        raise SystemExit(2) from None
    except KeyboardInterrupt:
        print("unmask: interrupted", file=sys.stderr)
        raise SystemExit(INTERRUPTED) from None
    except Exception as error:
        line = _misused(error)
        if line is None:
            raise
        print(line, end="", file=sys.stderr)
        raise SystemExit(2) from None


def _misused(error: Exception) -> str | None:
    """What is wrong with the words of a command, in one line; none if something else went wrong.

    The names of typer's errors differ between its versions; what they hold does not.
    """
    context, told = getattr(error, "ctx", None), getattr(error, "format_message", str)()
    if context is None:
        return None
    said = " ".join(told.split()).rstrip(".")  # nothing where the help has been shown already
    return f"unmask: {said}; see {context.command_path} --help\n" if said else ""
