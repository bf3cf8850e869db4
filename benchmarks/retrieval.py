"""How often the right passage is found: questions of a SQuAD file in, recall among all of its paragraphs out.

    OMP_NUM_THREADS=1 python benchmarks/retrieval.py --data dev-v1.1.json --encoder minilm --questions 600 > result.json

Rankings: words alone (BM25), vectors alone, both fused as equals, and what documents use (`documents`): fused where the
encoder was taught to embed, else words first. Times are processor milliseconds a question, one question at a time.
"""

import argparse
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from unmask.apps.answer import Passage
from unmask.apps.document_index import DocumentIndex
from unmask.apps.documents import RANKED, best_passages
from unmask.apps.spaces import TextSpace
from unmask.apps.vectors import TextVectors
from unmask.data.questions import read_questions
from unmask.retrieve.fusion import fuse
from unmask.retrieve.lexical import Lexical
from unmask.retrieve.nearest import Nearest

DEPTHS = (1, 5, 20)
TIMED = 100  # questions

Rankings = Sequence[Sequence[int]]


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--encoder", required=True)
    parser.add_argument("--questions", type=int, default=600)
    asked = parser.parse_args()
    print(json.dumps(measure(asked.data, asked.encoder, asked.questions), indent=2))


def measure(data: Path, encoder: str, most: int) -> dict[str, Any]:
    """The recall of every ranking and what it costs."""
    examples = read_questions(data).examples
    contexts = list(dict.fromkeys(example.context for example in examples))
    chosen = examples[:: max(1, len(examples) // most)]
    questions = [example.question for example in chosen]
    own = [contexts.index(example.context) for example in chosen]

    started = time.process_time()
    lexical = Lexical.of(contexts)
    counted = time.process_time() - started
    space = TextSpace(TextVectors(encoder))
    started = time.process_time()
    vectors = space(contexts)
    embedded = time.process_time() - started
    passages = tuple(Passage(context) for context in contexts)
    by_words = DocumentIndex((), (), passages, lexical)
    by_both = DocumentIndex((), (), passages, lexical, vectors, space)

    words = best_passages(by_words, questions, RANKED)
    near = Nearest(vectors).best(space(questions), RANKED)[0].tolist()
    rankings: dict[str, Rankings] = {
        "words": words,
        "vectors": near,
        "equals": [[place for place, _ in fuse(pair)] for pair in zip(words, near, strict=True)],
        "documents": best_passages(by_both, questions, RANKED),
    }
    return {
        "data": data.name,
        "encoder": encoder,
        "taught": space.encoder.taught,
        "paragraphs": len(contexts),
        "questions": len(questions),
        "seconds_to_count_words": round(counted, 3),
        "seconds_to_embed": round(embedded, 3),
        "recall": {name: recall(ranking, own) for name, ranking in rankings.items()},
        "milliseconds": {
            "words": per_question(lambda question: best_passages(by_words, [question], 20), questions),
            "documents": per_question(lambda question: best_passages(by_both, [question], 20), questions),
        },
    }


def recall(rankings: Rankings, own: Sequence[int]) -> dict[str, float]:
    """The share of questions whose own paragraph is among the first few, and half the width of its 95 % interval."""
    found: dict[str, float] = {}
    for depth in DEPTHS:
        hits = np.array([place in ranking[:depth] for ranking, place in zip(rankings, own, strict=True)])
        found[f"at_{depth}"] = round(float(hits.mean()), 4)
        found[f"at_{depth}_plus_minus"] = round(1.96 * float(hits.std()) / len(hits) ** 0.5, 4)
    return found


def per_question(find: Callable[[str], object], questions: Sequence[str]) -> dict[str, float]:
    """Median and 90th percentile of the processor's milliseconds for a question."""
    find(questions[0])
    spent = []
    for question in questions[:TIMED]:
        started = time.process_time()
        find(question)
        spent.append(1000 * (time.process_time() - started))
    return {"median": round(median(spent), 3), "p90": round(float(np.quantile(spent, 0.9)), 3)}


if __name__ == "__main__":
    main()
