"""Small models of every head, open as a folder is, with weights so large that answers differ from one another."""

from unmask.model.about import About
from unmask.model.bert import Bert
from unmask.model.config import BertConfig
from unmask.model.feature_heads import make_feature_head
from unmask.model.folder import ModelFolder
from unmask.model.heads import BertWithHead, make_head
from unmask.model.names import POOLED_HEADS, LoadReport
from unmask.text.tokenizer import Tokenizer
from unmask.text.vocabulary import SPECIAL_PIECES

WORDS = (
    "the a quick brown fox dog was not what they had hoped for and yet nobody ok by in it to go see 我 们 明 天 北 京 "
    "weather lazy , . ! ? ##s"
)
LABELS = {"classes": ("bad", "fair", "good"), "tokens": ("O", "B-PER", "I-PER"), "tags_crf": ("O", "B-PER", "I-PER")}


def small_model(head: str | None, **about: object) -> ModelFolder:
    """An untrained model with a head."""
    tokenizer = Tokenizer([*SPECIAL_PIECES, *WORDS.split()])
    config = BertConfig(
        vocabulary_size=tokenizer.size,
        width=32,
        layers=2,
        heads=4,
        feed_forward=64,
        positions=40,
        initial_deviation=0.3,
        pooler=head is None or head in POOLED_HEADS,
    )
    model: Bert | BertWithHead = Bert(config, seed=1)
    features = about.get("features")
    if isinstance(features, dict) and head is not None:
        model = BertWithHead(Bert(config, seed=1), make_feature_head(head, config, features, outputs=3, seed=2))
    elif head is not None:
        pooling = str(about.get("pooling", "mean"))
        model = BertWithHead(Bert(config, seed=1), make_head(head, config, outputs=3, pooling=pooling, seed=2))
    said = About(head, labels=LABELS.get(head or "", ()), **about)  # type: ignore[arg-type]
    return ModelFolder(config, model.eval(), tokenizer, said, LoadReport())
