"""One engine that makes vectors of texts, ours or another library's, in a process of its own.

    python -m unmask.lab.predict_engines ENGINE FOLDER THREADS

The folder holds the same weights in every form (`bench_predict` makes it). A request on standard input is the name of a
file of texts there and how many calls to spread them over; the reply is a line of JSON: the seconds that it took,
on the clock and of the processor.
Everything from text to vector counts, tokenisation included.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
Embed = Callable[[Sequence[str]], Vectors]  # texts -> (B, D), mean of the tokens, of length one

BATCH = 32  # texts, as people run it
LONGEST = 512  # pieces


def ours(name: str) -> Callable[[Path, int], Embed]:
    """Our runtime with one of the exported folders."""

    def open_engine(folder: Path, threads: int) -> Embed:
        from unmask.data.examples import TextExample
        from unmask.runtime.folder import open_serving
        from unmask.tasks.kinds import task_of

        opened = open_serving(folder / name, threads=threads)
        task = task_of(opened.about, opened.config.positions)

        def embed(texts: Sequence[str]) -> Vectors:
            examples = [TextExample(text) for text in texts]
            rows = task.rows(examples, opened.tokenizer)
            return np.concatenate(
                [answer.vectors for answer in task.answers(examples, rows, opened.engine.outputs(rows))]
            )

        return embed

    return open_engine


def transformers(folder: Path, threads: int) -> Embed:
    """As their documentation does it: batches of 32, padded to the longest."""
    import torch
    from transformers import AutoModel

    torch.set_num_threads(threads)
    tokenize, model = _tokenizer(folder), AutoModel.from_pretrained(folder / "model").eval()

    def embed(texts: Sequence[str]) -> Vectors:
        with torch.inference_mode():
            batch = tokenize(texts, "pt")
            hidden = model(**batch).last_hidden_state
        return _mean(hidden.numpy(), batch["attention_mask"].numpy())

    return _in_batches(embed)


def sentence_transformers(folder: Path, threads: int) -> Embed:
    """As their documentation does it; it sorts by length itself."""
    import torch
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(threads)
    model = SentenceTransformer(str(folder / "model"), device="cpu", local_files_only=True)
    model.max_seq_length = LONGEST
    return lambda texts: np.asarray(model.encode(list(texts), batch_size=BATCH, show_progress_bar=False))


def onnxruntime_int8(folder: Path, threads: int) -> Embed:
    """A standard graph, made int8 by onnxruntime's own tool with its defaults, and run as it comes."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(folder / "theirs_int8.onnx", options, providers=["CPUExecutionProvider"])
    tokenize = _tokenizer(folder)

    def embed(texts: Sequence[str]) -> Vectors:
        batch = tokenize(texts, "np")
        given = {name: np.asarray(batch[name], dtype=np.int64) for name in NAMES}
        return _mean(session.run(["last_hidden_state"], given)[0], given["attention_mask"])

    return _in_batches(embed)


def openvino(folder: Path, threads: int) -> Embed:
    """The standard graph, compiled for throughput of one stream."""
    import openvino as library

    core = library.Core()
    settings = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY"}
    compiled = core.compile_model(folder / "portable" / "onnx" / "model.onnx", "CPU", settings)
    tokenize = _tokenizer(folder)

    def embed(texts: Sequence[str]) -> Vectors:
        batch = tokenize(texts, "np")
        given = {name: np.asarray(batch[name], dtype=np.int64) for name in NAMES}
        return _mean(compiled(given)["last_hidden_state"], given["attention_mask"])

    return _in_batches(embed)


def ctranslate2(folder: Path, threads: int) -> Embed:
    """Converted by its own tool to int8."""
    import ctranslate2 as library

    library.converters.TransformersConverter(str(folder / "model")).convert(
        str(folder / "ctranslate2"), quantization="int8", force=True
    )
    encoder = library.Encoder(str(folder / "ctranslate2"), device="cpu", compute_type="int8", intra_threads=threads)
    tokenize = _tokenizer(folder)

    def embed(texts: Sequence[str]) -> Vectors:
        batch = tokenize(texts, None)
        found = encoder.forward_batch(batch["input_ids"])
        lengths = [sum(mask) for mask in batch["attention_mask"]]
        seen = np.arange(max(lengths)) < np.array(lengths)[:, None]
        return _mean(np.asarray(found.last_hidden_state), seen)

    return _in_batches(embed)


def sorted_by_length(open_engine: Callable[[Path, int], Embed]) -> Callable[[Path, int], Embed]:
    """The same engine when it is handed texts that lie in the order of their length."""

    def open_sorted(folder: Path, threads: int) -> Embed:
        embed = open_engine(folder, threads)

        def embed_sorted(texts: Sequence[str]) -> Vectors:
            order = np.argsort([len(text) for text in texts], kind="stable")
            found = embed([texts[place] for place in order])
            vectors = np.empty_like(found)
            vectors[order] = found
            return vectors

        return embed_sorted

    return open_sorted


def _tokenizer(folder: Path) -> Callable[[Sequence[str], str | None], Any]:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder / "model")
    return lambda texts, kind: tokenizer(
        list(texts), padding=kind is not None, truncation=True, max_length=LONGEST, return_tensors=kind
    )


def _in_batches(embed: Embed) -> Embed:
    return lambda texts: np.concatenate([embed(texts[start : start + BATCH]) for start in range(0, len(texts), BATCH)])


def _mean(hidden: NDArray[Any], mask: NDArray[Any]) -> Vectors:
    weights = mask[..., None].astype(np.float32)
    means = (hidden * weights).sum(1) / weights.sum(1)
    vectors: Vectors = (means / np.linalg.norm(means, axis=-1, keepdims=True)).astype(np.float32)
    return vectors


NAMES = ("input_ids", "attention_mask", "token_type_ids")
ENGINES: dict[str, Callable[[Path, int], Embed]] = {
    "unmask float32": ours("float32"),
    "unmask int8": ours("int8"),
    "transformers": transformers,
    "transformers, sorted": sorted_by_length(transformers),
    "sentence-transformers": sentence_transformers,
    "onnxruntime int8": onnxruntime_int8,
    "onnxruntime int8, sorted": sorted_by_length(onnxruntime_int8),
    "openvino": openvino,
    "openvino, sorted": sorted_by_length(openvino),
    "ctranslate2 int8": ctranslate2,
    "ctranslate2 int8, sorted": sorted_by_length(ctranslate2),
}


def serve(engine: str, folder: Path, threads: int, requests: Iterable[str], reply: Callable[[Any], None]) -> None:
    """Answers requests until there are no more; what the engine lacks is said at once."""
    try:
        embed = ENGINES[engine](folder, threads)
    except ImportError as error:
        reply({"missing": error.name or str(error)})
        return
    reply({"ready": True})
    for line in requests:
        file, calls = json.loads(line)
        texts = json.loads((folder / f"{file}.json").read_text(encoding="utf-8"))
        parts = [texts[number::calls] for number in range(calls)]
        started, worked = time.perf_counter(), time.process_time()
        vectors = [embed(part) for part in parts]
        spent = {"seconds": time.perf_counter() - started, "processor": time.process_time() - worked}
        np.save(folder / f"{engine}.npy", np.concatenate(vectors))
        reply(spent)


def main() -> None:
    """Serves one engine over standard input and output, of which libraries that print get none."""
    engine, folder, threads = sys.argv[1:]
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    serve(engine, Path(folder), int(threads), sys.stdin, lambda said: print(json.dumps(said), file=replies, flush=True))


if __name__ == "__main__":
    main()
