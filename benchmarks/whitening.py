"""Does whitening make the cosines of an encoder that was never taught to embed mean something?

    OMP_NUM_THREADS=1 python benchmarks/whitening.py ../shared/data -o result.json

Spearman's correlation of cosines with people's judgement on STS-B dev, vectors as the mean of tokens: raw, with the
mean taken away, whitened. A whitening is learned from the sentences of the train set, from more and fewer of them and
with fewer directions, or (as an index does it) from the very sentences that are compared. Judgements are never used.
"""

import argparse
import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from unmask.apps.vectors import TextVectors
from unmask.decode.embeddings import cosines
from unmask.retrieve.whitening import Whitening

SEEN = (20, 50, 100, 200, 500, 1500, 3000)  # sentences that a whitening is learned from
DRAWS = 5


def main() -> None:
    """Measures the models one after another."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    arguments = parser.parse_args()
    firsts, seconds, values = pairs_of(arguments.data / "glue" / "STS-B" / "dev.tsv")
    train, _, _ = pairs_of(arguments.data / "glue" / "STS-B" / "train.tsv")
    rows = []
    for model in ("default", "minilm"):
        encode = TextVectors(model)
        one, other, learned = encode(firsts), encode(seconds), encode(train[: SEEN[-1]])
        rows += [{"model": model, **row} for row in measured(one, other, learned, values)]
    for row in rows:
        print(json.dumps(row))
    arguments.output.write_text(json.dumps({"pairs": len(values), "rows": rows}, indent=1) + "\n")


def measured(one: Any, other: Any, learned: Any, values: list[float]) -> list[dict[str, Any]]:
    """A row of figures for each way to compare."""

    def agreement(change: Any) -> float:
        return float(spearmanr(cosines(change(one), change(other)), values).statistic)

    def row(way: str, found: list[float], **more: Any) -> dict[str, Any]:
        spread = {"least": round(min(found), 4), "most": round(max(found), 4)} if len(found) > 1 else {}
        return {"way": way, **more, "spearman": round(float(np.mean(found)), 4), "runs": len(found), **spread}

    mean = learned.mean(0)
    rows = [
        row("raw", [agreement(lambda vectors: vectors)]),
        row("mean taken away", [agreement(lambda vectors: vectors - mean)]),
        row("whitened by the sentences compared", [agreement(Whitening.of(np.concatenate([one, other])))]),
    ]
    for count in SEEN:
        draws = [np.random.default_rng(seed).permutation(len(learned))[:count] for seed in range(DRAWS)]
        draws = draws if count < len(learned) else draws[:1]
        rows.append(row("whitened", [agreement(Whitening.of(learned[draw])) for draw in draws], sentences=count))
    for width in (64, 128, 192):
        rows.append(row("whitened", [agreement(Whitening.of(learned, width))], sentences=SEEN[-1], width=width))
    return rows


def pairs_of(path: Path) -> tuple[list[str], list[str], list[float]]:
    """The sentences and values of a file of STS-B."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    return [row["sentence1"] for row in rows], [row["sentence2"] for row in rows], [float(row["score"]) for row in rows]


if __name__ == "__main__":
    main()
