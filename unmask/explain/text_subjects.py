"""What is explained of whole texts: a class, a value, how alike two texts are, an ending, whether B follows A."""

from collections.abc import Sequence

from unmask.data.examples import ChoiceExample, TextExample
from unmask.errors import InputError
from unmask.explain import target as targets
from unmask.explain.asked import Asked, number_of
from unmask.explain.reading import Reading, Texts, read_texts
from unmask.explain.target import Target
from unmask.tasks.classification import TEMPERATURE
from unmask.tasks.embedding import TextEmbedding

FOLLOWS = ("follows", "does not follow")  # the outputs of the next-sentence head, as published


def class_of_text(asked: Asked) -> tuple[Reading, Target]:
    """The class with the highest logit, or the one that was named."""
    reading, task = _one_sequence(asked), asked.task
    number = asked.best(reading) if asked.target is None else number_of(asked.target, task.labels)
    temperature = task.thresholds.get(TEMPERATURE, 1.0)
    count, label = len(reading.rows), task.labels[number]
    return reading, targets.class_target(label, number, count, temperature=temperature, several=task.multi_label)


def value_of_text(asked: Asked) -> tuple[Reading, Target]:
    """The value."""
    asked.refuse_target("a value")
    reading = _one_sequence(asked)
    return reading, targets.value_target("value", len(reading.rows))


def following(asked: Asked) -> tuple[Reading, Target]:
    """Whether the second text follows the first."""
    texts = _pair(asked.example, "two, of which the second may follow the first")
    reading = read_texts(
        asked.opened.tokenizer, texts, [(0, 1)], longest=asked.opened.config.positions, segment=asked.segment
    )
    number = asked.best(reading) if asked.target is None else number_of(asked.target, FOLLOWS)
    return reading, targets.class_target(FOLLOWS[number], number, len(reading.rows))


def similarity(asked: Asked) -> tuple[Reading, Target]:
    """The cosine of two texts' vectors."""
    asked.refuse_target("how alike two texts are")
    texts = _pair(asked.example, "two, whose similarity is explained")
    task = TextEmbedding.of(asked.opened.about, asked.opened.config.positions)  # a bare encoder has no task
    reading = read_texts(
        asked.opened.tokenizer,
        texts,
        [(0, None), (1, None)],
        longest=task.longest,
        long_text=task.long_text,
        segment=asked.segment,
    )
    return reading, targets.similarity_target("similarity", [row.part for row in reading.rows])


def ending(asked: Asked) -> tuple[Reading, Target]:
    """The chosen ending, or the one that was named."""
    example: ChoiceExample = asked.example
    endings = [f"{example.question} {ending}".strip() for ending in example.endings]
    reading = _read(asked, [example.context, *endings], [(0, number + 1) for number in range(len(endings))])
    number = asked.answer.choice if asked.target is None else number_of(asked.target, example.endings)
    return reading, targets.choice_target(example.endings[number], number, [row.part for row in reading.rows])


def _one_sequence(asked: Asked) -> Reading:
    """A text or a pair, read together."""
    example: TextExample = asked.example
    if example.pair is None:
        return _read(asked, [example.text], [(0, None)])
    return _read(asked, [example.text, example.pair], [(0, 1)])


def _read(asked: Asked, texts: Sequence[str], shown: Texts) -> Reading:
    task = asked.task
    return read_texts(
        asked.opened.tokenizer,
        texts,
        shown,
        longest=task.longest,
        long_text=task.long_text,
        segment=asked.segment,
    )


def _pair(example: TextExample, wanted: str) -> tuple[str, str]:
    if example.pair is None:
        raise InputError("a text alone", wanted=wanted, do="give the other with --pair")
    return example.text, example.pair
