"""A handful of made sentences about shops, a vocabulary that spells them, and a small model fine-tuned on them."""

import torch

from unmask.data.examples import TextExample
from unmask.model.bert import Bert
from unmask.model.config import BertConfig
from unmask.model.heads import BertWithHead, make_head
from unmask.tasks.classification import Classification
from unmask.text.learning import learn_vocabulary
from unmask.text.tokenizer import Tokenizer

GOOD, BAD = ("friendly", "quick", "cheap", "clean"), ("rude", "slow", "pricey", "dirty")
PLACES = ("bakery", "bookshop", "market", "pharmacy")
TEXTS = [f"the {place} is {very}{word}" for word in GOOD + BAD for place in PLACES for very in ("", "very ")]
EXAMPLES = [TextExample(text, label="good" if text.split()[-1] in GOOD else "bad") for text in TEXTS]
TASK = Classification(("bad", "good"), longest=16)
TOKENIZER = Tokenizer(learn_vocabulary(["\n".join(TEXTS)], size=120))


def config(**changes: object) -> BertConfig:
    """A small shape over the vocabulary."""
    shape = {"width": 32, "layers": 3, "heads": 4, "feed_forward": 48, "positions": 24, **changes}
    return BertConfig(vocabulary_size=TOKENIZER.size, **shape)  # type: ignore[arg-type]


def model(head: str | None = "classes", **changes: object) -> BertWithHead | Bert:
    """A model of fresh weights that are large enough for parts to matter."""
    shape = config(**{"initial_deviation": 0.2, **changes})
    bert = Bert(shape, seed=3)
    for layer in bert.layers:
        torch.nn.init.normal_(layer.qkv.bias, std=0.2, generator=torch.Generator().manual_seed(5))
    if head is None:
        return bert.eval()
    return BertWithHead(bert, make_head(head, shape, outputs=2, seed=4)).eval()


def classifier(**changes: object) -> BertWithHead:
    """The same with classes."""
    found = model("classes", **changes)
    assert isinstance(found, BertWithHead)
    return found
