"""The subject that a model folder makes of an example: what it was trained for says what is read and explained.

An opened folder and an example (a text, or a pair as a tuple) come in; the subject goes out, of the model's own answer
or of the target that is named: a class, an entity, an answer, an ending, a word for the mask.
"""

from collections.abc import Callable
from typing import Any

from unmask.data.examples import QuestionExample, TextExample
from unmask.data.tagged import untagged
from unmask.errors import InputError
from unmask.explain.asked import Asked
from unmask.explain.reading import Reading
from unmask.explain.subject import Subject
from unmask.explain.target import Target
from unmask.explain.text_subjects import class_of_text, ending, following, similarity, value_of_text
from unmask.explain.word_subjects import answer, entity, word_at_mask
from unmask.model.folder import ModelFolder
from unmask.model.heads import BertWithHead, Embedding
from unmask.text.segment import segmenter


def subject_of(opened: ModelFolder, example: Any, *, target: str | None = None, chinese_words: bool = False) -> Subject:
    """The subject of a text, a pair of texts, or an example of the model's task."""
    head, model = opened.about.head, opened.model
    if not isinstance(model, BertWithHead):
        model = BertWithHead(model, Embedding(opened.about.pooling)).eval()
    given = as_example(example, head)
    reading, what = SUBJECTS[head](Asked(opened, model, given, target, segmenter() if chinese_words else None))
    if not reading.words:
        raise InputError("an example without a word", wanted="a text with words")
    return Subject(model, opened.tokenizer, reading, what).only_what_is_read()


def as_example(given: Any, head: str | None) -> Any:
    """A text or pair as an example of what a head is for; an example as it is.

    >>> as_example(("Who?", "Ann."), "span").context
    'Ann.'
    """
    parts = (given,) if isinstance(given, str) else given
    if not isinstance(parts, tuple):
        return given
    if head == "choice":
        raise InputError("a text", wanted="a ChoiceExample: a context with its endings")
    if head == "span" and len(parts) == 1:
        raise InputError("a question alone", wanted="a question and the text that may answer it", do="give --pair")
    if head in ("tokens", "tags_crf") and len(parts) > 1:
        raise InputError("a pair of texts", wanted="one text, for a model that tags words")
    return EXAMPLES.get(head, TextExample)(*parts)


EXAMPLES: dict[str | None, Callable[..., Any]] = {"span": QuestionExample, "tokens": untagged, "tags_crf": untagged}
SUBJECTS: dict[str | None, Callable[[Asked], tuple[Reading, Target]]] = {
    "classes": class_of_text,
    "regression": value_of_text,
    "tokens": entity,
    "tags_crf": entity,
    "span": answer,
    "choice": ending,
    "embedding": similarity,
    None: similarity,
    "masked_words": word_at_mask,
    "pretraining": word_at_mask,
    "next_sentence": following,
}
