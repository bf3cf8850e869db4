"""The verbs of `chat`: talk to a chat in the terminal or through a pipe, train one on dialogues, measure one."""

import json
import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unmask.cli.apps import Device
from unmask.cli.console import Answer, Console, verb
from unmask.cli.pretrain import stoppable
from unmask.errors import InputError

if TYPE_CHECKING:
    from unmask.apps.chat import Chat
    from unmask.apps.talking import Spoken, Talk
    from unmask.tasks.finetuning_run import FineTuningRun, Outcome

PROMPT = "> "
HELP = "/new begins another conversation, /why shows what else could have been said, /quit ends"
Measured = dict[str, dict[str, Any]]


@verb
def talk(
    folder: Annotated[
        Path | None, typer.Argument(metavar="DIR", help="A chat's folder; the small chat of the package if none.")
    ] = None,
    say: Annotated[str | None, typer.Option("--say", help="Say this and end: one turn, one answer.")] = None,
    faqs: Annotated[
        list[Path] | None, typer.Option("--faq", help="An FAQ's folder, for what the dialogues lack; may be repeated.")
    ] = None,
    documents: Annotated[
        list[Path] | None,
        typer.Option("--documents", help="A documents' folder, for what the dialogues lack; may be repeated."),
    ] = None,
    keep: Annotated[
        Path | None,
        typer.Option("--keep", help="The file that conversations are kept in; your own on a terminal, else none."),
    ] = None,
    conversation: Annotated[
        str | None, typer.Option("--conversation", metavar="ID", help="Go on with an earlier conversation.")
    ] = None,
    device: Device = "cpu",
    *,
    console: Console,
) -> Answer | None:
    """Talk. Every line in is a turn, every line out an answer; with --json each is one object."""
    from unmask.apps.conversations import Conversations
    from unmask.apps.talking import Talk

    interactive = say is None and sys.stdin.isatty()
    conversations = Conversations(_kept(keep, interactive or conversation is not None))
    conversations.expire()
    talked = Talk(_open(folder, faqs or [], documents or [], device, console.threads), conversations, conversation)
    if say is not None:
        spoken = talked.say(say)
        return Answer(spoken.to_dict(), spoken.words)
    if interactive:
        _converse(talked, console)
        command = again(talked.conversation, folder, keep, faqs or [], documents or [])
        console.note(f"go on with: {command}")
    else:
        for line in sys.stdin.buffer:
            for told in _answered(talked, line.decode("utf-8", "surrogateescape").strip(), console):
                print(told, flush=True)
    return None


@verb
def train(
    dialogues: Annotated[
        list[Path],
        typer.Argument(metavar="DIALOGUES", help="jsonl, json, txt or yml files of dialogues, or folders of them."),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder of the new chat.")],
    model: Annotated[str, typer.Option("--model", "-m", help="The encoder to start from.")] = "default",
    dev: Annotated[
        list[Path] | None, typer.Option("--dev", help="Dialogues to measure on; a tenth of the others if none.")
    ] = None,
    most: Annotated[int, typer.Option("--most", min=1, help="Turns that the tower learns from at most.")] = 20_000,
    most_read: Annotated[
        int, typer.Option("--most-read", min=1, help="Turns that the cross-encoder learns from at most.")
    ] = 4_000,
    epochs: Annotated[float, typer.Option("--epochs", min=0.01, help="How often every turn is seen.")] = 1.0,
    batch_size: Annotated[int, typer.Option("--batch-size", min=2, help="Turns a step, told from one another.")] = 32,
    lr: Annotated[float | None, typer.Option("--lr", min=0.0, help="Peak learning rate; by the width if none.")] = None,
    length: Annotated[int, typer.Option("--length", min=8, help="Pieces of a conversation, the latest kept.")] = 96,
    device: Device = "cpu",
    *,
    console: Console,
) -> Answer:
    """Make a chat from dialogues. The same command again resumes an interrupted training."""
    from unmask.apps.chat_models import Learning
    from unmask.apps.chat_training import ChatTraining

    learning = Learning(
        model=model,
        most=most,
        most_read=most_read,
        epochs=epochs,
        learning_rate=lr,
        batch_size=batch_size,
        length=length,
        seed=console.seed,
        device=device,
    )
    training = ChatTraining(output, dialogues, learning, dev=dev or ())
    for line in training.notes:
        console.note(line)
    outcome = training.train(lambda run: _learn(run, console), console.note)
    words = [
        f"{outcome.folder}: {outcome.responses:,} replies, learned from {outcome.dialogues:,} dialogues, "
        f"{outcome.held_out:,} held out",
        *_table(outcome.scores),
        f"replies to {outcome.replied:.0%} of held-out conversations, refuses {outcome.strangers_refused:.0%} "
        f"of questions to strangers; {outcome.seconds:.0f} s",
    ]
    return Answer(outcome.to_dict(), "\n".join(words))


@verb
def evaluate(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A chat's folder.")],
    data: Annotated[list[Path], typer.Option("--data", help="Dialogues that it was not trained on.")],
    most: Annotated[int, typer.Option("--most", min=1, help="Turns to measure on at most.")] = 300,
    device: Device = "cpu",
    *,
    console: Console,
) -> Answer:
    """Measure how often the real reply is chosen among ten, beside BM25 and chance."""
    from unmask.apps.chat import open_chat
    from unmask.apps.chat_measures import make_pools
    from unmask.data.dialogues import read_dialogues

    read = read_dialogues(data)
    for line in read.notes:
        console.note(line)
    found = open_chat(folder, device=device, threads=console.threads).measured(
        make_pools(read.dialogues, most=most, seed=console.seed)
    )
    scores = {name: figures.to_dict() for name, figures in found.items()}
    fields = {"folder": str(folder), "pools": scores["chat"]["pools"], "scores": scores}
    return Answer(fields, "\n".join([f"{folder}: {fields['pools']:,} pools of ten replies", *_table(scores)]))


def _open(
    folder: Path | None, faqs: Sequence[Path], documents: Sequence[Path], device: str, threads: int | None
) -> "Chat":
    from unmask.apps.load import load

    answers, texts = ([load(path, threads=threads) for path in paths] for paths in (faqs, documents))
    if folder is not None:
        from unmask.apps.chat import open_chat

        return open_chat(folder, faqs=answers, documents=texts, device=device, threads=threads)
    from unmask.apps.builtin_chat import builtin_chat

    return builtin_chat(faqs=answers, documents=texts)


def _kept(keep: Path | None, wanted: bool) -> Path | str:
    if keep is not None or not wanted:
        return keep or ":memory:"
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "unmask" / "conversations.db"


def _converse(talked: "Talk", console: Console) -> None:
    """Turns at a terminal, with its line editing, until /quit or the end of input."""
    import readline  # noqa: F401  (input() edits lines by it)

    console.note(HELP)
    while True:
        try:
            line = input(PROMPT).strip()
        except EOFError:
            print()
            break
        if line == "/quit":
            break
        for told in _answered(talked, line, console):
            print(told, flush=True)


def again(
    conversation: str, folder: Path | None, keep: Path | None, faqs: Sequence[Path], documents: Sequence[Path]
) -> str:
    """The command that goes on with a conversation, with the same chat and from the same file.

    >>> again("x7", Path("my chat"), Path("talks.db"), [], [])
    "unmask chat 'my chat' --keep talks.db --conversation x7"
    """
    named = [("--faq", path) for path in faqs] + [("--documents", path) for path in documents]
    flags = [*named, *([("--keep", keep)] if keep else []), ("--conversation", conversation)]
    words = [*([folder] if folder else []), *(word for flag in flags for word in flag)]
    return shlex.join(["unmask", "chat", *map(str, words)])


def _answered(talked: "Talk", line: str, console: Console) -> Iterator[str]:
    """What is printed for a line: nothing for an empty one; a line that cannot be read is no end."""
    if not line:
        return
    try:
        told, words = _said(talked, line)
    except InputError as error:
        told, words = {"error": str(error)}, f"unmask: {error}"
    yield json.dumps(told, ensure_ascii=False) if console.json else words


def _said(talked: "Talk", line: str) -> tuple[dict[str, Any], str]:
    if line == "/quit":
        raise SystemExit(0)
    if line == "/new":
        talked.begin_anew()
        return {"conversation": talked.conversation}, "(a new conversation)"
    if line == "/why":
        return _why(talked.last)
    if line.startswith("/"):
        raise InputError(line.split()[0], wanted=HELP)
    spoken = talked.say(line)
    return spoken.to_dict(), spoken.words


def _why(spoken: "Spoken | None") -> tuple[dict[str, Any], str]:
    if spoken is None:
        raise InputError("/why before anything was said", wanted="a turn first")
    shown = spoken.reply.to_dict()["candidates"]
    rows = [f"  {one['score']:.3f}  {_reasons(one)}  {one['answer']}" for one in shown]
    return {"candidates": shown}, "\n".join(rows or ["  nothing was found"])


def _reasons(candidate: dict[str, Any]) -> str:
    parts = [f"{name} {candidate[name]:.2f}" for name in ("fit", "known") if name in candidate]
    return ", ".join([candidate["source"], *parts])


def _learn(run: "FineTuningRun", console: Console) -> "Outcome":
    title = {"embed": "tower", "choose": "cross-encoder"}[run.request.task]
    with stoppable(console) as stop, console.progress(title, run.tuning.steps, "steps") as bar:
        return run.train(lambda at: bar.update(at.step.number, None, loss=f"{at.step.loss:.3f}"), stop)


def _table(scores: Measured) -> list[str]:
    rows = [f"{name:14}{own['r10_at_1']:7.3f}{own['r10_at_2']:7.3f}{own['mrr']:7.3f}" for name, own in scores.items()]
    return [f"{'':14}{'R10@1':>7}{'R10@2':>7}{'MRR':>7}", *rows]
