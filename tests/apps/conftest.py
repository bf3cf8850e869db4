"""A small vocabulary and models with lively random weights, ours and the same in transformers."""

import pytest
import transformers

from unmask.model.bert import Bert
from unmask.model.config import BertConfig
from unmask.model.heads import BertWithHead, make_head
from unmask.model.names import to_published
from unmask.text.tokenizer import Tokenizer
from unmask.text.vocabulary import SPECIAL_PIECES

WORDS = (
    "the a cat dog bird sat sang on mat tree in and it he she was is tall small green rain snow . , ! ? 天 地 人 大 小"
)
PIECES = (*SPECIAL_PIECES, *WORDS.split(), "##s", "##ing", "##ed", "walk", "talk", "un", "##able", "i", "##t")


@pytest.fixture(scope="session")
def tokenizer() -> Tokenizer:
    return Tokenizer(PIECES)


@pytest.fixture(scope="session")
def model(tokenizer: Tokenizer) -> BertWithHead:
    """Both pretraining heads; weights so large that answers differ from one another."""
    config = BertConfig(
        vocabulary_size=tokenizer.size,
        width=32,
        layers=2,
        heads=4,
        feed_forward=64,
        positions=40,
        initial_deviation=0.3,
    )
    return BertWithHead(Bert(config, seed=1), make_head("pretraining", config, seed=2)).eval()


@pytest.fixture(scope="session")
def theirs(model: BertWithHead) -> transformers.BertForPreTraining:
    """The same weights in transformers."""
    config = model.bert.config
    reference = transformers.BertForPreTraining(transformers.BertConfig(**config.to_published())).eval()
    published = to_published(model.state_dict(), config, "pretraining")
    missing, unexpected = reference.load_state_dict(published, strict=False)
    assert all(name.startswith("cls.predictions.decoder") for name in missing), missing
    assert not unexpected
    reference.tie_weights()
    return reference
