"""What is explained of places in a text: the tags of an entity, an answer to a question, the word at a mask."""

from collections.abc import Sequence

import numpy as np

from unmask.data.examples import GivenAnswer, QuestionExample, TaggedExample, TextExample
from unmask.data.question_rows import WindowRow, answer_pieces
from unmask.data.word_rows import WordRow
from unmask.decode.tags import Entity, tags_of
from unmask.errors import InputError
from unmask.explain import target as targets
from unmask.explain.asked import Asked, number_of
from unmask.explain.reading import Reading, ReadRow, read_question, read_words, reading_of
from unmask.explain.subject import Subject
from unmask.explain.target import Target
from unmask.model.outputs import outputs_of


def entity(asked: Asked) -> tuple[Reading, Target]:
    """The surest entity; that of a text or type; or words of the user's choice as a type, `Rome=LOC`."""
    task = asked.task
    read = task.as_read(asked.example)
    rows = [row for row in task.rows([asked.example], asked.opened.tokenizer) if isinstance(row, WordRow)]
    if asked.target is not None and "=" in asked.target:
        named = _named(read, asked.target)
    else:
        named = _found(asked.answer.entities, asked.target)
    words = [n for n, (start, end) in enumerate(read.words) if start >= named.start and end <= named.end]
    tags = tags_of([(named.type, words[0], words[-1] + 1)], len(read.words), task.scheme)
    numbers = [number_of(tags[word], task.labels) for word in words]
    target = targets.tag_target(f"{named.type}: {named.text}", [_seen(rows, word) for word in words], numbers)
    return read_words(read, rows, asked.segment), target


def _found(entities: Sequence[Entity], target: str | None) -> Entity:
    fitting = [entity for entity in entities if target is None or target in (entity.text, entity.type)]
    if not fitting:
        seen = ", ".join(f"{entity.text} ({entity.type})" for entity in entities) or "none"
        raise InputError(
            f"no entity{'' if target is None else f' {target!r}'} in the answer, which has {seen}",
            do="name one of them, or words and a type of your own: --target 'Rome=LOC'",
        )
    return max(fitting, key=lambda entity: entity.score)


def _named(example: TaggedExample, target: str) -> Entity:
    text, _, type_ = target.rpartition("=")
    start, end = example.text.find(text), example.text.find(text) + len(text)
    if start < 0 or not any(start <= first and last <= end for first, last in example.words):
        raise InputError(f"target {target!r}", wanted="whole words of the text, and a type: 'Rome=LOC'")
    return Entity(type_, start, end, text, 0.0)


def _seen(rows: Sequence[WordRow], word: int) -> tuple[int, int]:
    """The row and token where a word is read farthest from an edge."""
    found = [
        (min(token, len(row.ids) - 1 - token), number, token)
        for number, row in enumerate(rows)
        for token in row.places[row.words == word].tolist()
    ]
    if not found:
        raise InputError("a word of which the model reads nothing", wanted="one of its vocabulary's characters")
    return max(found)[1:]


def answer(asked: Asked) -> tuple[Reading, Target]:
    """The answer of the model, or a stretch of the context that was named; the empty text stands for no answer."""
    example: QuestionExample = asked.example
    rows = [row for row in asked.task.rows([example], asked.opened.tokenizer) if isinstance(row, WindowRow)]
    reading = read_question(asked.opened.tokenizer, example, rows, asked.segment)
    if asked.target is None:
        said = asked.answer
        given = None if said.answer is None else GivenAnswer(said.answer, said.start)
    else:
        given = GivenAnswer(asked.target, example.context.find(asked.target)) if asked.target else None
    if given is None:
        return reading, targets.span_target("no answer", 0, 0, 0)
    return reading, targets.span_target(given.text, *_best_window(asked, rows, given))


def _best_window(asked: Asked, rows: Sequence[WindowRow], given: GivenAnswer) -> tuple[int, int, int]:
    """The window that scores an answer highest, and the answer's first and last token there."""
    scored = []
    for number, (row, output) in enumerate(zip(rows, outputs_of(asked.model, rows), strict=True)):
        first, last = answer_pieces(given, row.offsets) or (0, -1)
        end = given.start + len(given.text)
        if first <= last and row.offsets[first, 0] <= given.start and end <= row.offsets[last, 1]:
            first, last = first + row.first, last + row.first
            scored.append((float(output[first, 0] + output[last, 1]), number, first, last))
    if given.start < 0 or not scored:
        raise InputError(f"answer {given.text!r}", wanted="a stretch of the context, or '' for no answer")
    return max(scored)[1:]


def word_at_mask(asked: Asked) -> tuple[Reading, Target]:
    """The likeliest piece at the first mask, or the one that was named."""
    example: TextExample = asked.example
    tokenizer = asked.opened.tokenizer
    encoding = tokenizer.encode(example.text, example.pair, max_length=asked.opened.config.positions)
    if tokenizer.mask_id not in encoding.ids:
        raise InputError("a text without [MASK]", wanted="[MASK] where the word is that is explained")
    mask = encoding.ids.index(tokenizer.mask_id)
    tokens = zip(encoding.segments, encoding.offsets, encoding.word_ids, strict=True)
    places = [
        None if n == mask or word is None else (part, *span) for n, (part, span, word) in enumerate(tokens)
    ]  # the mask asks, and is no word that could answer
    texts = [example.text] if example.pair is None else [example.text, example.pair]
    reading = reading_of(texts, [ReadRow(encoding.ids, encoding.segments, places)], asked.segment)
    if asked.target is None:
        unnamed = Subject(asked.model, tokenizer, reading, targets.word_target("", 0, (0, mask)))
        id = int(unnamed.outputs(np.ones((1, len(reading.words)), bool)).argmax())
    else:
        written = asked.target if asked.target in tokenizer.pieces else asked.target.lower()
        id = number_of(written, tokenizer.pieces)
    return reading, targets.word_target(tokenizer.pieces[id], id, (0, mask))
