"""What is wrong with a corpus, before time is spent on it: text or a store comes in, findings and figures go out."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from unmask.data.store import Store
from unmask.lab.finding import Finding
from unmask.lab.text_figures import ODD, TextFigures, quantile
from unmask.tasks.corpus import vocabulary_size_for
from unmask.tasks.pretraining import entropy, piece_counts

# Half of the second segments come from another document: with fewer, the same ones return again and again, and two in a
# hundred held out would be none.
FEWEST_DOCUMENTS = 100
# Wikipedia and novels repeat some 2 % of their sentences. What repeats far more is learned by heart.
MOST_DUPLICATES = 0.1
# Documents of one sentence give no pairs: where most are such, text is lost, or line ends were taken for blank lines.
MOST_SHORT_DOCUMENTS = 0.5
# Below this even the smallest model has seen every word too rarely; a book has about as much.
LEAST_TEXT = 1_000_000  # bytes
# 30,000 pieces leave at most 5 words in 1,000 unknown on text of another field (see the record of vocabularies).
MOST_UNKNOWN = 0.01
# Vocabularies that fit gave 1.0 to 1.4 pieces a word in the runs and texts looked at.
MOST_PIECES = 2.0
MOST_ODD = 1e-5  # of the characters: a few are in any text from the web
MOST_MISREAD = 1e-5  # of the characters: names in other languages look so now and then
MOST_MARKUP = 0.05  # of the lines: mathematics and code have some
MOST_BROKEN = 0.2  # of the line ends: verse and lists have some
LEAST_SCRIPT = 1e-4  # of the letters: single names in other scripts are in any text
LONG_SENTENCE = 1000  # characters: four rows of 128 pieces
MOST_LONG_SENTENCES = 0.02


def diagnose_text(figures: TextFigures) -> Iterator[Finding]:
    """What is wrong with raw text."""
    for name, why in figures.unreadable.items():
        yield Finding("unreadable file", "error", f"{name}: {why}", "convert it to UTF-8 (iconv), or leave it out")
    yield from _characters(figures)
    yield from _lines(figures)
    yield from _amount(figures.documents, figures.short_documents)
    if figures.bytes < LEAST_TEXT:
        seen = f"{figures.bytes:,} bytes of text"
        yield Finding("little text", "warning", seen, "add text, or go on from a model with --from")
    if figures.duplicates > MOST_DUPLICATES * max(figures.compared, 1):
        yield _duplicates(figures.duplicates, figures.compared)
    long = sum(count for length, count in figures.sentence_lengths.items() if length > LONG_SENTENCE)
    if long > MOST_LONG_SENTENCES * max(figures.sentences, 1):
        seen = f"{long:,} of {figures.sentences:,} sentences are longer than {LONG_SENTENCE:,} characters"
        yield Finding(
            "long sentences", "warning", seen, "put each sentence on a line: no sentence ends were found in them"
        )


def _characters(figures: TextFigures) -> Iterator[Finding]:
    odd = {kind: figures.kinds[kind] for kind in ODD if figures.kinds[kind] > MOST_ODD * figures.characters}
    if odd:
        names = {"control": "control characters", "private": "private-use characters", "replacement": "U+FFFD"}
        seen = ", ".join(f"{count:,} {names[kind]}" for kind, count in odd.items())
        do = "remove them, or extract the source again: they are what another encoding or font left of characters"
        yield Finding("odd characters", "warning", f"{seen} in {figures.characters:,} characters", do)
    if sum(figures.misread.values()) > MOST_MISREAD * figures.characters:
        files = sorted(figures.misread, key=figures.misread.__getitem__, reverse=True)
        seen = ", ".join(f"{name}: {figures.misread[name]:,}" for name in files[:3]) + " …" * (len(files) > 3)
        do = "UTF-8 was read as Latin-1 somewhere (Ã© for é): decode the source again"
        yield Finding("wrong encoding", "warning", f"characters of a wrong decoding: {seen}", do)


def _lines(figures: TextFigures) -> Iterator[Finding]:
    if figures.markup_lines > MOST_MARKUP * max(figures.lines, 1):
        seen = f"{figures.markup_lines:,} of {figures.lines:,} lines have tags, entities or wiki marks"
        yield Finding("markup", "warning", seen, "extract the plain text first")
    if figures.broken > MOST_BROKEN * max(figures.breaks, 1):
        seen = f"{figures.broken:,} of {figures.breaks:,} line ends stand within a sentence"
        yield Finding("wrapped lines", "warning", seen, "prepare it with --lines wrapped, so that they are joined")


def _amount(documents: int, short: int) -> Iterator[Finding]:
    if documents < FEWEST_DOCUMENTS:
        do = "put blank lines between documents, or train without next sentences (--objective mlm)"
        yield Finding("few documents", "warning", f"{documents:,} documents", do)
    if short > MOST_SHORT_DOCUMENTS * max(documents, 1):
        seen = f"{short:,} of {documents:,} documents have one sentence, from which no pair can be drawn"
        do = "put blank lines between documents only, or train without pairs (--objective mlm)"
        yield Finding("one-sentence documents", "warning", seen, do)


def _duplicates(repeated: int, of: int) -> Finding:
    seen = f"{repeated / of:.0%} of {of:,} sentences occurred before"
    return Finding("duplicates", "warning", seen, "leave them out: unmask prepare --drop-duplicates")


def text_fields(figures: TextFigures) -> dict[str, Any]:
    """The figures of raw text as JSON has them."""
    sentences, documents = figures.sentence_lengths, figures.document_lengths
    return {
        "files": figures.files,
        "documents": figures.documents,
        "one_sentence_documents": figures.short_documents,
        "sentences": figures.sentences,
        "characters": figures.characters,
        "bytes": figures.bytes,
        "scripts": {script: round(share, 4) for script, share in figures.scripts.items() if share >= LEAST_SCRIPT},
        "sentence_characters": {f"p{share}": quantile(sentences, share / 100) for share in (5, 50, 95)},
        "document_sentences": {f"p{share}": quantile(documents, share / 100) for share in (5, 50, 95)},
        "duplicate_sentences": figures.duplicates,
        "odd_characters": {kind: figures.kinds[kind] for kind in ODD if figures.kinds[kind]},
        "markup_lines": figures.markup_lines,
        "wrapped_documents": figures.wrapped_documents,
        "unreadable_files": dict(figures.unreadable),
        "misread_characters": dict(figures.misread),
        "suggested_vocabulary_size": vocabulary_size_for(figures.bytes),
    }


@dataclass(frozen=True)
class StoreFigures:
    """What was counted in a store."""

    documents: int
    short_documents: int
    sentences: int
    tokens: int
    duplicate_sentences: int  # that are still there
    unknown_rate: float  # of the words
    pieces_per_word: float
    unigram_loss: float

    def to_dict(self) -> dict[str, Any]:
        """The figures as JSON has them."""
        return asdict(self)


def measure_store(store: Store) -> StoreFigures:
    """Reads all tokens of a store once."""
    tokenizer, description = store.tokenizer(), store.description
    counts = piece_counts(store, tokenizer.size)  # (V,)
    words = max(int(counts[tokenizer.starts_word].sum()), 1)
    return StoreFigures(
        documents=store.document_count,
        short_documents=int(np.count_nonzero(np.diff(store.document_sentences) == 1)),
        sentences=store.sentence_count,
        tokens=store.token_count,
        duplicate_sentences=0 if description["settings"]["drop_duplicates"] else description["duplicate_sentences"],
        unknown_rate=int(counts[tokenizer.unknown_id]) / words,
        pieces_per_word=store.token_count / words,
        unigram_loss=entropy(counts),
    )


def diagnose_store(figures: StoreFigures, *, pairs: bool = True) -> Iterator[Finding]:
    """What is wrong with tokenised text, for an objective with sentence pairs or without."""
    if pairs:
        yield from _amount(figures.documents, figures.short_documents)
    if figures.duplicate_sentences > MOST_DUPLICATES * max(figures.sentences, 1):
        yield _duplicates(figures.duplicate_sentences, figures.sentences)
    if figures.unknown_rate > MOST_UNKNOWN:
        seen = f"{figures.unknown_rate:.1%} of the words are unknown to the vocabulary"
        do = "learn one from this text (unmask vocab learn), or see unmask vocab check for what is missing"
        yield Finding("wrong vocabulary", "error", seen, do)
    if figures.pieces_per_word > MOST_PIECES:
        seen = f"{figures.pieces_per_word:.2f} pieces a word"
        do = "learn a vocabulary from this text, or a larger one (unmask vocab learn --size)"
        yield Finding("words in many pieces", "warning", seen, do)
