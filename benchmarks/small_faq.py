"""Does a small FAQ know what it does not know? FAQs drawn by chance from public ones: how often they answer and refuse.

    OMP_NUM_THREADS=1 python benchmarks/small_faq.py ../shared/data -o result.json

Each FAQ has a few entries of a set and no paraphrases, as people begin. Asked are paraphrases of its entries, those of
20 entries that it does not have, and questions to strangers. The rule before, three quarters of its own questions asked
without their entries, stands beside the threshold that is chosen now.
"""

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from faq import SETS

from unmask.apps.faq import Faq
from unmask.apps.faq_entries import Entry
from unmask.apps.faq_index import FaqIndex
from unmask.apps.faq_measures import ask_itself, judge
from unmask.apps.not_knowing import strangers_to
from unmask.apps.vectors import TextVectors

DRAWN, OTHERS, ASKED = 60, 20, 3  # FAQs of each size, entries that they lack, paraphrases of each entry
SIZES = (4, 8, 16, 64)
WITH = (("stackfaq", "default"), ("stackfaq", "minilm"), ("lcqmc", "default"))


def main() -> None:
    """Writes a row for each set, encoder and size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    given = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for name, model in WITH:
        for row in measured(name, model, given.data):
            rows.append(row)
            print(json.dumps(row), flush=True)
            given.output.write_text(json.dumps({"faqs": DRAWN, "rows": rows}, indent=1) + "\n")


def measured(name: str, model: str, data: Path) -> Iterator[dict[str, Any]]:
    """The rows of a set: means over the FAQs that were drawn."""
    entries, questions, answers = SETS[name][0](data)
    ways: dict[str, list[str]] = {}
    for question, answer in zip(questions, answers, strict=True):
        ways.setdefault(answer, []).append(question)
    known = [Entry(entry.question, entry.answer) for entry in entries if entry.answer in ways]
    encoder, chance = TextVectors(model), np.random.default_rng(0)
    for size in SIZES:
        drawn = []
        for _ in range(DRAWN):
            order = chance.permutation(len(known))[: size + OTHERS]
            own, others = ([known[place] for place in part] for part in (order[:size], order[size:]))
            asked = [(number, way) for number, entry in enumerate(own) for way in ways[entry.answer][:ASKED]]
            drawn.append(shares(FaqIndex.of(own, encoder), asked, [ways[entry.answer][0] for entry in others]))
        means = {rule: np.mean([one[rule] for one in drawn], axis=0).round(3).tolist() for rule in drawn[0]}
        yield {"set": name, "model": model, "entries": size, "right, others refused, strangers refused": means}


def shares(index: FaqIndex, asked: Sequence[tuple[int, str]], others: Sequence[str]) -> dict[str, list[float]]:
    """For both rules: paraphrases answered rightly, questions of others refused, questions to strangers refused."""
    own, scores, right = ask_itself(index)
    without = judge(index.by_entry(scores), right).without
    thresholds = {"before": float(np.quantile(without, 0.75)), "now": Faq.of(index).threshold}
    found = index.by_entry(index.scores([way for _, way in asked]))  # (Q, entries)
    is_right = found.argmax(1) == [number for number, _ in asked]
    away, strange = (index.by_entry(index.scores(group)).max(1) for group in (others, strangers_to(own)))
    return {
        rule: [
            float((is_right & (found.max(1) >= cut)).mean()),
            float((away < cut).mean()),
            float((strange < cut).mean()),
        ]
        for rule, cut in thresholds.items()
    }


if __name__ == "__main__":
    main()
