"""How many requests a second a server answers, beside the server that people write first: same model, same texts.

A classifier of MiniLM's size is served by `unmask serve` and by FastAPI around a transformers pipeline, each in a
process of its own. Closed-loop clients in a third process ask one text a request; the sides take turns. Memory over
many requests, and what happens above the limit, are measured on a tiny model, where requests cost little.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from unmask.compress.export import export
from unmask.compress.quantize import quantize
from unmask.errors import InputError
from unmask.lab.bench_predict import make_texts
from unmask.lab.bench_pretrain import documentation
from unmask.model.about import About
from unmask.model.bert import Bert
from unmask.model.config import BertConfig
from unmask.model.folder import ModelFolder, open_model, save_model
from unmask.model.starting_point import with_fresh_head

CLIENTS = (1, 8, 64, 256)
LABELS = ("negative", "positive")
FLOODING, FLOOD_TEXTS = 24, 2000  # clients, and texts of each of their requests: more than may wait


@dataclass(frozen=True)
class Serving:
    """What clients saw, by how many there were and whom they asked, round by round."""

    rounds: dict[int, dict[str, list[dict[str, Any]]]]

    def to_dict(self) -> dict[str, Any]:
        """Medians and ratios for every number of clients; the summary is that of the most clients.

        >>> def seen(speed): return [{"per_second": speed, "p50": 0.1, "p99": 0.2, "statuses": {"200": 9, "429": 1}}]
        >>> told = Serving({64: {"ours": seen(60.0), "theirs": seen(15.0)}}).to_dict()
        >>> told["ratio"], told["clients"]["64"]["ours"]["refused"]
        (4.0, 1)
        """
        clients = {str(count): _compared(sides) for count, sides in self.rounds.items()}
        last = clients[str(max(self.rounds))]
        speeds = {side: last[side]["per_second"] if side in last else None for side in ("ours", "theirs")}
        about = {"what": "serve", "unit": "requests per second", **speeds, "ratio": last["ratios"].get("ours")}
        return about | {"clients": clients, "rounds": {str(count): sides for count, sides in self.rounds.items()}}


def make_classifier(model: str, folder: Path, *, int8: bool) -> ModelFolder:
    """A classifier with a fresh head, as a model folder for them and as serving folders for us."""
    opened = open_model(model)
    config, made = with_fresh_head(opened, "classes", outputs=len(LABELS))
    about = About(head="classes", labels=LABELS, task="classify")
    classifier = replace(opened, config=config, model=made.eval(), about=about)
    save_model(folder / "theirs", config, made, opened.tokenizer, about)
    export(classifier, folder / "ours")
    if int8:
        quantize(classifier, folder / "int8")
    return classifier


def make_bodies(opened: ModelFolder, folder: Path) -> int:
    """A file of requests, a sentence each; gives how many there are."""
    make_texts(opened.tokenizer, documentation(folder), folder)
    texts = json.loads((folder / "sentences.json").read_text(encoding="utf-8"))
    (folder / "bodies.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    flood = json.dumps({"text": (texts * FLOOD_TEXTS)[:FLOOD_TEXTS]})
    (folder / "flood.jsonl").write_text(flood + "\n")
    return len(texts)


def measure_serving(
    folder: Path, sides: Sequence[str], *, clients: Sequence[int] = CLIENTS, rounds: int, seconds: float, threads: int
) -> Serving:
    """All sides in turns for every number of clients; a short first round warms them and is not counted."""
    found: dict[int, dict[str, list[dict[str, Any]]]] = {count: {side: [] for side in sides} for count in clients}
    with ExitStack() as stack:
        started = {side: stack.enter_context(_server(side, folder / side, threads)) for side in sides}
        for port, _ in started.values():
            ask(port, folder / "bodies.jsonl", clients=4, seconds=min(seconds, 2.0))
        for _ in range(rounds):
            for count in clients:
                for side, (port, process) in started.items():
                    before = processor_seconds(process)
                    seen = ask(port, folder / "bodies.jsonl", clients=count, seconds=seconds)
                    seen["processor"] = processor_seconds(process) - before
                    found[count][side].append(seen)
    return Serving(found)


def make_tiny(folder: Path) -> None:
    """A tiny classifier with random weights and the default vocabulary, served by us alone."""
    known = open_model("default")
    config = BertConfig.named("tiny", vocabulary_size=known.tokenizer.size)
    opened = replace(known, config=config, model=Bert(config), about=About())
    config, made = with_fresh_head(opened, "classes", outputs=len(LABELS))
    about = About(head="classes", labels=LABELS, task="classify")
    classifier = replace(opened, config=config, model=made.eval(), about=about)
    export(classifier, folder / "ours")
    make_bodies(classifier, folder)


def measure_tiny(folder: Path, requests: int, seconds: float, *, threads: int) -> dict[str, Any]:
    """Our server's memory after a tenth of many requests and after all; then clients who ask for more than may wait."""
    bodies = folder / "bodies.jsonl"
    with _server("ours", folder / "ours", threads) as (port, process):
        first = ask(port, bodies, clients=32, requests=max(1, requests // 10))
        before = resident(process)
        rest = ask(port, bodies, clients=32, requests=requests - max(1, requests // 10))
        after = resident(process)
        flood = ask(port, folder / "flood.jsonl", clients=FLOODING, seconds=seconds)
        afterwards = ask(port, bodies, clients=1, requests=10)
        told = {"requests": requests, "bytes_early": before, "bytes_late": after, "bytes_flooded": resident(process)}
    statuses = {"first": first, "rest": rest, "flood": flood, "afterwards": afterwards}
    return told | {"statuses": {name: seen["statuses"] for name, seen in statuses.items()}}


def ask(port: int, bodies: Path, *, clients: int, seconds: float = 0.0, requests: int | None = None) -> dict[str, Any]:
    """What clients in a process of their own see."""
    words = [str(port), str(bodies), str(clients), str(seconds), *([] if requests is None else [str(requests)])]
    command = [sys.executable, "-m", "unmask.lab.serve_clients", *words]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise InputError(f"clients that failed: {done.stderr[-400:]}", wanted="answers")
    seen: dict[str, Any] = json.loads(done.stdout)
    return seen


def resident(process: "subprocess.Popen[str]") -> int | None:
    """Bytes of memory that a process holds, where the system tells."""
    try:
        lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    except OSError:
        return None
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith("VmRSS")), None)


def processor_seconds(process: "subprocess.Popen[str]") -> float:
    """Seconds of the processor that a process has used, where the system tells: what counts on a busy machine."""
    try:
        told = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(told[11]) + int(told[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def _server(side: str, folder: Path, threads: int) -> Iterator[tuple[int, "subprocess.Popen[str]"]]:
    """A server that listens, its port and its process; their own tool says a port, ours an address."""
    if side == "theirs":
        command = ["-m", "unmask.lab.serve_rival", str(folder), str(threads)]
    else:
        command = ["-m", "unmask", "serve", str(folder), "--port", "0", "--quiet", "--json", "--threads", str(threads)]
    environment = os.environ | {"OMP_NUM_THREADS": str(threads), "TOKENIZERS_PARALLELISM": "true"}
    log = folder.with_name(f"{folder.name}.log")
    with log.open("w+") as said:
        pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": said}
        if side != "theirs":
            pipes = {"stdout": said, "stderr": subprocess.PIPE}
        process = subprocess.Popen([sys.executable, *command], text=True, env=environment, **pipes)
        pipe = process.stdout or process.stderr
        assert pipe is not None
        try:
            yield _port(pipe.readline(), log), process
        finally:
            process.terminate()
            process.wait()
            pipe.close()


def _port(line: str, log: Path) -> int:
    if not line.startswith("{"):
        raise InputError(f"a server that did not start: {line} {log.read_text()[-400:]}", wanted="one that listens")
    told = json.loads(line)
    return int(told["port"] if "port" in told else told["address"].rpartition(":")[2])


def _compared(sides: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    told: dict[str, Any] = {side: _median(seen) for side, seen in sides.items()}
    theirs = sides.get("theirs", [])
    for name, figure in (("ratios", _speed), ("processor_ratios", _economy)):
        told[name] = {
            side: median(figure(o) / max(figure(t), 1e-9) for o, t in zip(seen, theirs, strict=True))
            for side, seen in sides.items()
            if side != "theirs" and theirs
        }
    return told


def _speed(seen: dict[str, Any]) -> float:
    return float(seen["per_second"])


def _economy(seen: dict[str, Any]) -> float:
    """Requests answered in a second of the processor."""
    return float(seen["statuses"].get("200", 0) / max(seen.get("processor", 0.0), 0.01))


def _median(seen: Sequence[dict[str, Any]]) -> dict[str, Any]:
    numbers = {name: median(one.get(name, float("inf")) for one in seen) for name in ("per_second", "p50", "p99")}
    counted = {
        status: sum(one["statuses"].get(status, 0) for one in seen) for one in seen for status in one["statuses"]
    }
    refused = counted.get("429", 0)
    errors = sum(count for status, count in counted.items() if status not in ("200", "429"))
    return numbers | {"answered": counted.get("200", 0), "refused": refused, "errors": errors}
