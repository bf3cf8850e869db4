"""Finds entities in texts: texts in, each entity's type and place in the text out, however long the text is."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from unmask.apps.predict import outputs_and_positions
from unmask.apps.reading import Report
from unmask.apps.refusing import Refused, fault_of
from unmask.data.examples import TextExample
from unmask.data.tagged import untagged
from unmask.errors import InputError
from unmask.model.about import About
from unmask.runtime.folder import ServingFolder
from unmask.tasks.tagging import TaggedWords, Tagging
from unmask.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from unmask.model.bert import Bert
    from unmask.model.heads import BertWithHead

HEADS = ("tokens", "tags_crf")


class EntityFinder:
    """Tags the words of texts with a model that was fine-tuned for it, open in torch or exported.

    >>> from unmask.model.bert import Bert
    >>> from unmask.model.config import BertConfig
    >>> from unmask.model.heads import BertWithHead, make_head
    >>> from unmask.text.vocabulary import SPECIAL_PIECES
    >>> tokenizer = Tokenizer([*SPECIAL_PIECES, "ann", "sang", "."])
    >>> config = BertConfig.named("tiny", vocabulary_size=tokenizer.size)
    >>> about = About("tokens", labels=("O", "B-PER", "I-PER"))
    >>> find = EntityFinder(BertWithHead(Bert(config), make_head("tokens", config, outputs=3)), tokenizer, about)
    >>> len(find("Ann sang.").tags)
    3
    """

    def __init__(self, model: "Bert | BertWithHead | ServingFolder", tokenizer: Tokenizer, about: About) -> None:
        if about.head not in HEADS:
            raise InputError(f"a model with the head {about.head!r}", wanted="one that was fine-tuned for tagging")
        self.tokenizer = tokenizer
        self.outputs, positions = outputs_and_positions(model, tokenizer, about)
        self.task = Tagging.of(about, positions)

    def __call__(self, text: str) -> TaggedWords:
        """The entities of one text; one that cannot be read is an error."""
        found = self.many([text])[0]
        if isinstance(found, Refused):
            raise InputError(found.error.removeprefix("got "))
        return found

    def many(self, texts: Sequence[str], *, report: Report = lambda *_: None) -> list[TaggedWords | Refused]:
        """The same for many texts at once, or what is wrong with one; an empty text has no entities."""
        faults = [fault_of(TextExample(text)) for text in texts]
        examples = [untagged(text) for text, fault in zip(texts, faults, strict=True) if fault is None]
        rows = self.task.rows(examples, self.tokenizer) if examples else []
        found = iter(self.task.answers(examples, rows, self.outputs(rows, report=report)) if examples else [])
        return [next(found) if fault is None else fault for fault in faults]
