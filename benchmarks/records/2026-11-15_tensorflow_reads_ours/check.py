"""Our checkpoint reader and writer against TensorFlow itself: each reads what the other wrote, values compared exactly.

Run it from the project, where tensorflow is installed: `PYTHONPATH=. python PATH_OF_THIS_FILE`.
"""

import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow as tf

from unmask.model.tensorflow_checkpoint import (
    BFLOAT16,
    index_path,
    open_checkpoint,
    shard_path,
    write_checkpoint,
)

REPEATS = 7


def make_tensors() -> dict[str, np.ndarray]:
    """Every type, optimiser slots, a scalar, an empty tensor, enough names for many restart points."""
    chance = np.random.default_rng(0)
    kernels = {f"bert/encoder/layer_{n}/output/dense/kernel": (64, 32) for n in range(40)}
    slots = {f"{name}/adam_{slot}": shape for name, shape in kernels.items() for slot in "mv"}
    shapes = kernels | slots | {"bert/embeddings/word_embeddings": (3000, 768), "empty": (0, 3)}
    tensors = {name: chance.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    return tensors | {
        "half": chance.standard_normal((5, 7)).astype(np.float16),
        "double": chance.standard_normal((5, 7)),
        "counts": np.arange(6, dtype=np.int32).reshape(2, 3),
        "global_step": np.array(12_345),
    }


def tensorflow_writes(prefix: Path, tensors: dict[str, Any], shards: int) -> None:
    """One bundle for each shard, merged as TensorFlow's sharded saver does."""
    names, parts = sorted(tensors), []
    for shard in range(shards):
        chosen = names[shard::shards]
        parts.append(str(prefix) if shards == 1 else f"{prefix}-part-{shard}")
        tf.raw_ops.SaveV2(
            prefix=parts[-1],
            tensor_names=chosen,
            shape_and_slices=[""] * len(chosen),
            tensors=[tf.constant(tensors[name]) for name in chosen],
        )
    if shards > 1:
        tf.raw_ops.MergeV2Checkpoints(checkpoint_prefixes=parts, destination_prefix=str(prefix), delete_old_dirs=False)


def read_by_tensorflow(prefix: Path) -> dict[str, np.ndarray]:
    """All tensors, by TensorFlow's own reader."""
    reader = tf.train.load_checkpoint(str(prefix))
    return {name: reader.get_tensor(name) for name, _ in tf.train.list_variables(str(prefix))}


def read_by_us(prefix: Path) -> dict[str, np.ndarray]:
    """All tensors, by ours."""
    checkpoint = open_checkpoint(prefix)
    return {name: np.array(checkpoint.read(name)) for name in checkpoint.entries}


def equal(found: dict[str, np.ndarray], wanted: dict[str, np.ndarray]) -> bool:
    """The same names, shapes and values; bfloat16 compared as float32."""
    same_names = found.keys() == wanted.keys()
    return same_names and all(
        found[name].shape == wanted[name].shape
        and np.array_equal(found[name].astype(np.float64), wanted[name].astype(np.float64))
        for name in wanted
    )


def seconds(work: Callable[[], object]) -> float:
    """How long one run takes."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def compare_speed(folder: Path) -> dict[str, Any]:
    """Reading 440 MB in 200 tensors, theirs and ours in turn, checksums verified by both."""
    prefix = folder / "large.ckpt"
    tensors = {f"kernel_{n:03d}": np.random.default_rng(n).random((768, 716), np.float32) for n in range(200)}
    write_checkpoint(prefix, tensors)
    pairs = [(seconds(lambda: read_by_tensorflow(prefix)), seconds(lambda: read_by_us(prefix))) for _ in range(REPEATS)]
    theirs, ours = zip(*pairs, strict=True)
    return {
        "megabytes": round(shard_path(prefix, 0, 1).stat().st_size / 1e6),
        "tensorflow_seconds": [round(value, 3) for value in theirs],
        "our_seconds": [round(value, 3) for value in ours],
        "ratio_of_medians": round(statistics.median(ours) / statistics.median(theirs), 2),
    }


def main() -> None:
    """Prints one JSON object: what each side read of the other, and how fast."""
    folder = Path(tempfile.mkdtemp())
    tensors = make_tensors()
    brain = tf.cast(np.random.default_rng(1).standard_normal((3, 5)).astype(np.float32), tf.bfloat16).numpy()
    wanted = tensors | {"brain": brain.astype(np.float32)}
    result: dict[str, Any] = {"tensorflow": tf.__version__, "tensors": len(wanted), "repeats": REPEATS}
    for shards in (1, 3):
        theirs, ours = folder / f"theirs{shards}.ckpt", folder / f"ours{shards}.ckpt"
        tensorflow_writes(theirs, tensors | {"brain": brain}, shards)
        write_checkpoint(ours, tensors | {"brain": brain.view(np.uint16).view(BFLOAT16)}, shards=shards)
        result[f"we_read_theirs_{shards}_shards"] = equal(read_by_us(theirs), wanted)
        result[f"tensorflow_reads_ours_{shards}_shards"] = equal(read_by_tensorflow(ours), wanted)
    pairs = [(place(folder / "ours1.ckpt"), place(folder / "theirs1.ckpt")) for place in (index_path, first_shard)]
    result["one_shard_files_are_the_same_bytes"] = all(a.read_bytes() == b.read_bytes() for a, b in pairs)
    result["speed"] = compare_speed(folder)
    print(json.dumps(result, indent=2))


def first_shard(prefix: Path) -> Path:
    """The only data file of a checkpoint in one shard."""
    return shard_path(prefix, 0, 1)


if __name__ == "__main__":
    main()
