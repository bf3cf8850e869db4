"""The default model, from its finished pretraining run: judged in both languages, saved small, with its card.

    python benchmarks/judge_default.py RUN STORE --pairs blimp.jsonl --pieces 18300 -o unmask/embedded/default

RUN is the folder of `unmask pretrain`, STORE its tokens, the pairs are minimal pairs as `unmask evaluate` reads them.
Held-out documents are told apart by their script; each language has figures of its own. Documents that the learned text
has too, wholly or in part (poems that stand in several books, beginnings given again), are not asked. `--pieces` keeps
those that the text uses most: the rarest characters become unknown, and the folder small. The folder is written in
float16 with `checksums.txt`; its scores, by category too, and the terms of its text stand in its card.
"""

import argparse
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from unmask.apps.judging import judge_pretrained
from unmask.compress.trim import keep_pieces, smaller_tokenizer
from unmask.data.ragged import Integers
from unmask.data.store import Store
from unmask.model.about import About
from unmask.model.checksums import write_checksums
from unmask.model.folder import ModelFolder, open_model, save_model
from unmask.tasks.bars import draw_bars
from unmask.tasks.corpus import open_corpus
from unmask.tasks.objectives import Learner
from unmask.tasks.pretraining import PretrainingSettings, entropy, examination, examine, piece_counts
from unmask.text.tokenizer import Tokenizer, is_chinese

TERMS = "Wikipedia text (CC BY-SA 3.0), novels of before 1926 (public domain), classical Chinese (MIT, chinese-poetry)"
SAMPLE = 400  # pieces of a document that say which script it is in
FAMILIAR = 0.2  # share of its sentences that the learned text has too, from which on a document is not asked


def main() -> None:
    """Judges, then writes the folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("store", type=Path)
    parser.add_argument("--pairs", type=Path)
    parser.add_argument("--picture", type=Path, help="of the categories of pairs")
    parser.add_argument("--limit", type=int)
    parser.add_argument("--pieces", type=int)
    parser.add_argument("-o", "--output", type=Path, required=True)
    given = parser.parse_args()
    opened = open_model(given.run)
    scores = by_language(given.run, given.store)
    if given.pieces:
        opened = of_the_commonest_pieces(opened, Store.open(given.store), given.pieces)
    about = replace(opened.about, scores=rounded(scores), provenance={**opened.about.provenance, "terms": TERMS})
    write(given.output, opened, about)
    if given.pairs:
        judged = judge_pretrained(open_model(given.output, head="masked_words"), given.pairs, limit=given.limit)
        means = {"all": judged.accuracy, "mean of categories": judged.category_mean}
        scores["minimal pairs"] = {**means, **judged.categories}
        if given.picture:
            draw_bars(judged.categories, given.picture, title="minimal pairs", chance=0.5)
        write(given.output, opened, replace(about, scores=rounded(scores)))
    print(rounded(scores))


def write(folder: Path, opened: ModelFolder, about: About) -> None:
    """The folder as it is embedded."""
    save_model(folder, opened.config, opened.model, opened.tokenizer, about, dtype="float16")
    write_checksums(folder)


def of_the_commonest_pieces(opened: ModelFolder, store: Store, most: int) -> ModelFolder:
    """The model with the pieces that a text uses most, and the special ones."""
    used = piece_counts(store, opened.tokenizer.size)
    used[opened.tokenizer.special] = used.max() + 1
    kept = np.sort(np.argsort(-used, kind="stable")[:most]).tolist()
    model, tokenizer = keep_pieces(opened.model, kept), smaller_tokenizer(opened.tokenizer, kept)
    said = {"pieces kept": f"{most:,} of {opened.tokenizer.size:,}, those that the text uses most"}
    about = replace(opened.about, provenance={**opened.about.provenance, **said})
    smaller = replace(opened, model=model, tokenizer=tokenizer, about=about)
    return replace(smaller, config=smaller.bert.config)


def by_language(run: Path, store: Path) -> dict[str, Any]:
    """Held-out figures in each language."""
    settings = PretrainingSettings.from_json((run / "settings.json").read_text(encoding="utf-8"))
    opened = open_model(run)
    corpus = open_corpus(
        [store], run / "none", lambda _: opened.tokenizer, held_out=settings.held_out, words=settings.words
    )
    learner = Learner(opened.model, settings.objective)  # type: ignore[arg-type]
    unseen = without_the_familiar(corpus.store, corpus.held_out)
    chinese = np.array([is_chinese_document(corpus.store, number, opened.tokenizer) for number in unseen])
    found = {}
    for name, documents in (("english", unseen[~chinese]), ("chinese", unseen[chinese])):
        parts = examination(corpus.store, documents, opened.tokenizer, settings, corpus.words)
        found[name] = {
            **examine(learner, parts),
            "unigram_loss": unigram(corpus.store, documents, opened.tokenizer.size),
        }
    return found


def without_the_familiar(store: Store, held_out: Integers) -> Integers:
    """Those of the held-out documents that have hardly a sentence of the learned ones."""
    tokens = store.tokens(0, store.token_count)

    def sentences(number: int) -> list[bytes]:
        first, after = store.document_sentences[number], store.document_sentences[number + 1]
        bounds = store.sentence_tokens[first : after + 1]
        return [tokens[start:end].tobytes() for start, end in pairwise(bounds)]

    kept_back = set(held_out.tolist())
    learned = {text for number in range(store.document_count) if number not in kept_back for text in sentences(number)}
    shares = [np.mean([text in learned for text in sentences(number)]) for number in held_out.tolist()]
    return held_out[np.array(shares) < FAMILIAR]


def is_chinese_document(store: Store, number: int, tokenizer: Tokenizer) -> bool:
    """Whether most pieces at a document's beginning are Chinese characters."""
    start, end = document_tokens(store, number)
    pieces = [tokenizer.pieces[id].removeprefix("##") for id in store.tokens(start, min(end, start + SAMPLE))]
    return sum(is_chinese(piece[0]) for piece in pieces) > len(pieces) / 4


def document_tokens(store: Store, number: int) -> tuple[int, int]:
    """The tokens of a document, from and to."""
    first, after = store.document_sentences[number], store.document_sentences[number + 1]
    return int(store.sentence_tokens[first]), int(store.sentence_tokens[after])


def unigram(store: Store, documents: Integers, size: int) -> float:
    """The loss of a model that knows only how frequent pieces are in these documents."""
    counts = np.zeros(size, dtype=np.int64)
    for number in documents:
        counts += np.bincount(store.tokens(*document_tokens(store, int(number))), minlength=size)
    return entropy(counts)


def rounded(value: Any) -> Any:
    """Numbers with four digits after the point, in whatever depth."""
    if isinstance(value, dict):
        return {name: rounded(inner) for name, inner in value.items()}
    return round(value, 4) if isinstance(value, float) else value


if __name__ == "__main__":
    main()
