"""The verbs `bench …`: this machine's figures, measured in turns with another library's where one is named."""

from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unmask.cli.console import Answer, Console, verb
from unmask.cli.pretrain import parse_duration
from unmask.errors import InputError

if TYPE_CHECKING:
    from unmask.lab.learning_runs import Course, Point


class Rival(StrEnum):
    """Whom to measure against."""

    transformers = "transformers"


class Rivals(StrEnum):
    """Whom to measure answers against."""

    transformers = "transformers"
    all = "all"


class Clock(StrEnum):
    """What a budget is counted on."""

    wall = "wall"
    cpu = "cpu"


Against = Annotated[Rival | None, typer.Option("--against", help="Measure this library too, in turns.")]
Size = Annotated[str, typer.Option("--size", help="The size of model to measure with.")]
Rounds = Annotated[int, typer.Option("--rounds", min=1, help="How often; the answer is the median.")]


@verb
def start(against: Against = None, size: Size = "base", rounds: Rounds = 5, *, console: Console) -> Answer:
    """A fresh process to its first answer: seconds of ours, of theirs, and the ratio ours / theirs."""
    from unmask.lab.bench_start import make_folder, measure_starts

    with TemporaryDirectory() as temporary:
        folder = Path(temporary) / size
        console.note(f"making a {size} model with random weights")
        make_folder(folder, size)
        console.note(f"{rounds + 1} rounds of fresh processes, the first not counted")
        starts = measure_starts(folder, rounds=rounds, against_transformers=against is not None)
    fields = starts.to_dict() | {"size": size}
    cpu = fields["cpu_seconds"]
    lines = [
        f"unmask --help   {fields['help']:.2f} s, {cpu['help']:.2f} s of the processor",
        f"unmask fill     {fields['ours']:.2f} s, {cpu['ours']:.2f} s of the processor",
    ]
    if fields["theirs"] is not None:
        lines.append(f"transformers    {fields['theirs']:.2f} s, {cpu['theirs']:.2f} s of the processor")
        lines.append(f"ours / theirs   {fields['ratio']:.2f}")
    return Answer(fields, "\n".join(lines))


@verb
def pretrain(
    against: Against = None,
    size: Size = "base",
    rounds: Rounds = 5,
    text: Annotated[Path | None, typer.Option("--text", help="To pretrain on; Python's documentation if none.")] = None,
    dropout: Annotated[float, typer.Option("--dropout", min=0.0, max=0.9, help="While pretraining, both sides.")] = 0.1,
    precision: Annotated[str, typer.Option("--precision", help="Of both sides' products.")] = "float32",
    *,
    console: Console,
) -> Answer:
    """Steps of pretraining: useful pieces a second of ours, of theirs, and the ratio ours / theirs."""
    from unmask.lab.bench_pretrain import make_trial, measure_memory, measure_pretraining
    from unmask.training.half_precision import settled_precision

    precision = settled_precision(precision, "cpu")
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        console.note("preparing text")
        trial = make_trial(size, dropout, text, folder, precision)
        console.note(f"{rounds + 1} rounds of steps in turns, the first not counted")
        speeds = measure_pretraining(trial, rounds=rounds, against_transformers=against is not None)
        if against is not None:
            console.note("memory of a step, each side in a process of its own")
            ours, theirs = (measure_memory(side, size, dropout, text, folder, precision) for side in ("ours", "theirs"))
            speeds = replace(speeds, our_memory=ours, their_memory=theirs)
    fields = speeds.to_dict() | {"precision": precision}
    lines = [f"ours {fields['ours']:,.0f} pieces a second"]
    if fields["theirs"] is not None:
        lines.append(f"transformers {fields['theirs']:,.0f} pieces a second; ours / theirs {fields['ratio']:.2f}")
        memory = f"{fields['our_memory'] / 1e6:,.0f} MB against {fields['their_memory'] / 1e6:,.0f} MB"
        lines.append(f"memory of a step {memory}: {fields['memory_ratio']:.2f}")
    return Answer(fields, "\n".join(lines))


@verb
def learning(
    text: Annotated[Path, typer.Option("--text", metavar="TEXT|STORE", help="To pretrain on.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Runs and picture; a finished run is not made again.")],
    against: Against = None,
    size: Size = "mini",
    budget: Annotated[str, typer.Option("--budget", help="Time for each run, such as 90s or 20m.")] = "20m",
    lr_ours: Annotated[
        str, typer.Option("--lr-ours", help="Learning rates of our runs; '' for none.")
    ] = "5e-4,1e-3,2e-3",
    lr_theirs: Annotated[
        str, typer.Option("--lr-theirs", help="Learning rates of their runs; '' for none.")
    ] = "1e-4,3e-4,1e-3",
    clock: Annotated[
        Clock, typer.Option("--clock", help="What the budget counts; cpu is fair to one thread on a busy machine.")
    ] = Clock.wall,
    core: Annotated[
        list[int] | None, typer.Option("--core", min=0, help="Stay on this core; with several, a run on each at once.")
    ] = None,
    *,
    console: Console,
) -> Answer:
    """Time to the same held-out loss: when ours passes what a plain transformers script ends with."""
    from unmask.lab.bench_learning import collect, courses, draw, find_store, name_of, run_missing
    from unmask.lab.learning_runs import Course

    seconds = parse_duration(budget)
    rates = {"ours": _rates("--lr-ours", lr_ours)}
    if against is not None:
        rates["theirs"] = _rates("--lr-theirs", lr_theirs)
    store = find_store(text, output)
    alike = Course("", 0.0, str(store), size, seconds, clock.value, console.threads or 1, console.seed)

    def watch(course: "Course", point: "Point") -> None:
        console.note(f"{name_of(course)}: step {point.step:,}, {point.seconds:,.0f} s, held-out loss {point.loss:.3f}")

    run_missing(courses(rates, alike), output, cores=core or [], watch=watch)
    found = collect(output)
    draw(output / "learning.png", found)
    fields = found.to_dict()
    return Answer(fields | {"picture": str(output / "learning.png")}, _learning_in_words(fields, output))


def _rates(flag: str, text: str) -> list[float]:
    try:
        rates = [float(part) for part in text.split(",") if part.strip()]
    except ValueError:
        rates = [0.0]
    if not all(0 < rate < 1 for rate in rates):
        raise InputError(f"{flag} {text}", wanted="learning rates with commas between, such as 5e-4,1e-3")
    return rates


def _learning_in_words(fields: dict[str, Any], folder: Path) -> str:
    lines = [f"a model that knows only how frequent words are: {fields['unigram_loss']:.2f} nats"]
    for side, name in (("our", "ours"), ("their", "transformers")):
        if fields[f"{side}_loss"] is not None:
            lines.append(f"{name}: {fields[f'{side}_loss']:.3f} with learning rate {fields[f'{side}_learning_rate']:g}")
    if fields["ratio"] is not None:
        lines.append(f"ours is there after {fields['ours']:,.0f} of {fields['theirs']:,.0f} s: {fields['ratio']:.3f}")
    return "\n".join([*lines, f"picture: {folder / 'learning.png'}"])


@verb
def finetune(
    against: Against = None,
    rounds: Rounds = 5,
    model: Annotated[
        str | None, typer.Option("--model", "-m", help="What to start from; minilm if installed, else fresh weights.")
    ] = None,
    sst2: Annotated[
        Path | None, typer.Option("--sst2", metavar="DIR", help="SST-2's files; made-up texts as long if none.")
    ] = None,
    squad: Annotated[
        Path | None, typer.Option("--squad", metavar="DIR", help="SQuAD's files; made-up questions as long if none.")
    ] = None,
    precision: Annotated[
        str | None,
        typer.Option("--precision", help="Of all sides' products; if none, each as it comes."),
    ] = None,
    *,
    console: Console,
) -> Answer:
    """Fine-tuning, prediction, and prediction as exported: examples a second, and the ratio ours / theirs."""
    from unmask.lab.bench_exported import measure_exported
    from unmask.lab.bench_finetune import make_trial, measure_finetuning, minilm_if_installed
    from unmask.training.half_precision import AUTO, settled_precision

    precisions = {
        side: settled_precision(precision or own, "cpu") for side, own in (("ours", AUTO), ("theirs", "float32"))
    }
    model = model or minilm_if_installed()
    fields: dict[str, Any] = {"what": "finetune", "unit": "examples per second", "model": model or "fresh"}
    fields |= {"precision": precisions}
    lines = []
    for kind, data in {"classify": sst2, "answer": squad}.items():
        trial = make_trial(kind, data, model, seed=console.seed)
        console.note(f"{kind}: {rounds + 1} rounds of {len(trial.examples)} examples in turns, the first not counted")
        measured = measure_finetuning(trial, rounds=rounds, against_transformers=against is not None, **precisions)
        measured |= measure_exported(trial, rounds=rounds, against_transformers=against is not None)
        fields[kind] = {name: speeds.to_dict() for name, speeds in measured.items()}
        fields[kind] |= {"examples": len(trial.examples), "batch_size": trial.batch_size, "made_up": data is None}
        lines += [f"{kind}, {name}: {_rivals_in_words(fields[kind][name])}" for name in measured]
    first = fields["classify"]["training"]
    return Answer(fields | {name: first[name] for name in ("ours", "theirs", "ratio")}, "\n".join(lines))


def _rivals_in_words(speeds: dict[str, Any]) -> str:
    words = f"ours {speeds['ours']:.1f} examples a second"
    if speeds["theirs"] is None:
        return words
    theirs = f"transformers {speeds['theirs']:.1f} ({speeds['ratio']:.2f} times as fast)"
    return f"{words}, {theirs}, grouped by length {speeds['bucketed']:.1f} ({speeds['bucketed_ratio']:.2f})"


@verb
def predict(
    against: Annotated[
        Rivals | None, typer.Option("--against", help="Measure these too, in turns, each in its own process.")
    ] = None,
    rounds: Rounds = 5,
    model: Annotated[
        str | None, typer.Option("--model", "-m", help="Whose weights all use; minilm if installed, else fresh ones.")
    ] = None,
    text: Annotated[
        Path | None, typer.Option("--text", help="To take sentences and passages from; Python's documentation if none.")
    ] = None,
    *,
    console: Console,
) -> Answer:
    """Vectors of sentences, passages and single texts: texts a second of every engine, tokenisation included."""
    from unmask.lab.bench_finetune import minilm_if_installed
    from unmask.lab.bench_predict import AGAINST, make_forms, make_texts, measure_prediction
    from unmask.lab.bench_pretrain import documentation
    from unmask.runtime.engine import usable_cores

    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        console.note("writing the same weights in every form")
        opened = make_forms(model or minilm_if_installed() or "default", folder)
        counts = make_texts(opened.tokenizer, text or documentation(folder), folder)
        console.note(", ".join(f"{count:,} {kind}" for kind, count in counts.items()))
        console.note(f"{rounds + 1} rounds in turns, the first not counted")
        threads = console.threads or usable_cores()
        measured = measure_prediction(folder, AGAINST[against.value if against else ""], rounds=rounds, threads=threads)
    fields = measured.to_dict() | {"texts": counts, "threads": threads}
    return Answer(fields, "\n".join(_engines_in_words(fields)))


def _engines_in_words(fields: dict[str, Any]) -> list[str]:
    lines = []
    for kind, compared in fields["kinds"].items():
        lines.append(f"{kind}, texts a second")
        for name, speed in sorted(compared["medians"].items(), key=lambda row: -row[1]):
            ratios = [
                f"{by.removeprefix('unmask ')} {ratio[name]:.2f}"
                for by, ratio in compared["ratios"].items()
                if name in ratio
            ]
            lines.append(f"  {name:<26}{speed:9,.1f}" + (f"  ours / theirs: {', '.join(ratios)}" if ratios else ""))
    lines += [f"{name}: not measured, {module} is not installed" for name, module in fields["missing"].items()]
    return lines


@verb
def serve(
    against: Against = None,
    rounds: Rounds = 3,
    seconds: Annotated[float, typer.Option("--seconds", min=0.1, help="For each side and number of clients.")] = 10.0,
    clients: Annotated[str, typer.Option("--clients", help="Numbers of clients, with commas between.")] = "1,8,64,256",
    model: Annotated[
        str | None, typer.Option("--model", "-m", help="The encoder of the classifier; minilm if installed.")
    ] = None,
    int8: Annotated[bool, typer.Option("--int8", help="Measure our int8 folder too.")] = False,
    requests: Annotated[
        int, typer.Option("--requests", min=0, help="For memory over time and the limit, on a tiny model; 0 for none.")
    ] = 0,
    *,
    console: Console,
) -> Answer:
    """Requests a second of ours, of a plain FastAPI + transformers server, and the ratio; delays and errors."""
    from unmask.lab.bench_finetune import minilm_if_installed
    from unmask.lab.bench_serve import make_bodies, make_classifier, make_tiny, measure_serving, measure_tiny
    from unmask.runtime.engine import usable_cores

    threads = console.threads or usable_cores()
    sides = ["ours", *(["int8"] if int8 else []), *(["theirs"] if against else [])]
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        name = model or minilm_if_installed() or "default"
        console.note(f"a classifier on {name}, {rounds} rounds in turns")
        texts = make_bodies(make_classifier(name, folder, int8=int8), folder)
        options: dict[str, Any] = {"rounds": rounds, "seconds": seconds, "threads": threads}
        fields = measure_serving(folder, sides, clients=_counts(clients), **options).to_dict()
        fields |= {"model": name, "threads": threads, "texts": texts}
        if requests:
            console.note(f"{requests:,} requests to a tiny model, then more than may wait")
            make_tiny(folder / "tiny")
            fields["tiny"] = measure_tiny(folder / "tiny", requests, seconds, threads=threads)
    return Answer(fields, "\n".join(_serving_in_words(fields)))


def _counts(text: str) -> list[int]:
    found = [int(part) for part in text.split(",") if part.strip().isdigit()]
    if not found or min(found) < 1:
        raise InputError(f"--clients {text}", wanted="numbers of clients with commas between, such as 1,8,64")
    return found


def _serving_in_words(fields: dict[str, Any]) -> list[str]:
    lines = ["clients  side     requests a second   p50 ms   p99 ms   429   errors   ours / theirs, by processor time"]
    for count, sides in fields["clients"].items():
        for side, seen in sides.items():
            if not side.endswith("ratios"):
                numbers = f"{seen['per_second']:17.1f} {1000 * seen['p50']:8.1f} {1000 * seen['p99']:8.1f}"
                ratios = [f"{sides[name][side]:8.2f}" for name in ("ratios", "processor_ratios") if side in sides[name]]
                ratio = " ".join(ratios)
                lines.append(f"{count:>7}  {side:<8} {numbers} {seen['refused']:5} {seen['errors']:8} {ratio}")
    return lines
