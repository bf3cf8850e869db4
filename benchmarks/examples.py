"""How fast pretraining examples are drawn and masked on one core, in pieces a second.

    python benchmarks/examples.py STORE -o benchmarks/records/DATE_examples/result.json

STORE is made by `unmask prepare`. The combinations of objective, unit and batch are timed in turn, over and over.
"""

import argparse
import json
import statistics
import time
from itertools import product
from pathlib import Path

from unmask.data.masking import mask
from unmask.data.pairs import draw, plan
from unmask.data.store import Store

OBJECTIVES, UNITS, BATCHES, LENGTHS = ("next", "order", "full"), ("piece", "word", "span"), (4096, 16384), (128, 512)
STEPS, TURNS = 40, 9


def main() -> None:
    """Times every combination in turn and writes the medians."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store", type=Path)
    parser.add_argument("-o", "--output", type=Path)
    arguments = parser.parse_args()
    store = Store.open(arguments.store)
    tokenizer = store.tokenizer()
    plans = {key: plan(store, objective=key[0], length=key[1]) for key in product(OBJECTIVES, LENGTHS)}
    rates: dict[tuple[str, str, int, int], list[float]] = {}
    for turn in range(TURNS):
        for objective, unit, length, batch in product(OBJECTIVES, UNITS, LENGTHS, BATCHES):
            made, pieces, began = plans[objective, length], 0, time.thread_time()
            for step in range(STEPS):
                examples = draw(made, tokenizer, seed=turn, step=step, rows=made.rows(batch))
                pieces += len(mask(examples, tokenizer, unit=unit).ids)
            rate = pieces / (time.thread_time() - began)
            rates.setdefault((objective, unit, length, batch), []).append(rate)
    rows = [summary(key, found) for key, found in rates.items()]
    for row in rows:
        print("{objective:6} {unit:6} {length:4} {batch:6} {median:12,.0f} ({low:,.0f} to {high:,.0f})".format(**row))
    if arguments.output:
        arguments.output.write_text(json.dumps({"unit": "pieces/s", "turns": TURNS, "rows": rows}, indent=1) + "\n")


def summary(key: tuple[str, str, int, int], rates: list[float]) -> dict[str, str | float]:
    """A line of the table."""
    objective, unit, length, batch = key
    spread = {"median": statistics.median(rates), "low": min(rates), "high": max(rates)}
    return {"objective": objective, "unit": unit, "length": length, "batch": batch, **spread}


if __name__ == "__main__":
    main()
