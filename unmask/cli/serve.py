"""The verb `serve`: model folders in, an HTTP server that answers with them until it is told to stop."""

import json
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unmask.cli.console import Console, verb
from unmask.cli.pretrain import parse_duration

if TYPE_CHECKING:
    from unmask.serve.models import Models


@verb
def serve(
    folders: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="DIR", help="Folders of models, faq, documents, chat; NAME=DIR renames; else the embedded."
        ),
    ] = None,
    host: Annotated[str, typer.Option("--host", help="Where to listen; beyond this machine only with a token.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="0 takes any that is free.")] = 8000,
    token: Annotated[
        str | None, typer.Option("--token", envvar="UNMASK_TOKEN", help="What clients must send as their bearer token.")
    ] = None,
    origins: Annotated[
        list[str] | None,
        typer.Option("--allow-origin", help="A site whose pages may ask from a browser; none if not given."),
    ] = None,
    timeout: Annotated[
        float, typer.Option("--timeout", min=0.1, help="Seconds in which a request must be answered.")
    ] = 30,
    conversations: Annotated[
        str | None,
        typer.Option("--conversations", metavar="FILE", help="Keep conversations here; in memory if not given."),
    ] = None,
    keep: Annotated[str, typer.Option("--keep", help="How long after its last turn a conversation is kept.")] = "168h",
    *,
    console: Console,
) -> None:
    """Serve models and applications over HTTP, with a page for browsers; /docs describes what can be asked."""
    from functools import partial

    from unmask.serve.application import open_application
    from unmask.serve.figures import Figures
    from unmask.serve.gate import write_log
    from unmask.serve.models import Models, folders_of
    from unmask.serve.server import Settings, check_exposure
    from unmask.serve.server import serve as listen

    check_exposure(host, token)
    figures = Figures()
    log = write_log if not console.quiet else _silent

    def tell(event: str, **fields: Any) -> None:
        figures.reloaded(event)
        log(event, **fields)

    models = Models(
        folders_of(folders or []),
        open=partial(open_application, threads=console.threads),
        tell=tell,
        batch_done=figures.batch_done,
    )
    models.open()
    kept = Settings.conversations if conversations is None else conversations
    settings = Settings(
        *(host, port, token, tuple(origins or ())),
        timeout=timeout,
        log=log,
        conversations=kept,
        keep=parse_duration(keep),
    )
    listen(models, settings, figures, listening=lambda address: _say(address, models, console))


def _say(address: str, models: "Models", console: Console) -> None:
    """One line on stderr, where the log follows: the address, and each model with its asks and engine."""
    told = [{"name": m.name, "asks": list(m.asks), "engine": m.application.engine} for m in models]
    words = "; ".join(f"{m.name} ({', '.join(m.asks)}; {m.application.engine})" for m in models)
    line = json.dumps({"address": address, "models": told}, ensure_ascii=False)
    print(line if console.json else f"listening on {address} with {words}", file=sys.stderr, flush=True)


def _silent(event: str, **fields: Any) -> None:
    del event, fields
