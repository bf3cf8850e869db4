"""Heads on chosen layers: what each reads, that batch-mates do not matter, and folders that answer the same."""

from pathlib import Path

import pytest
import torch
import transformers

from unmask.data.ragged import pack
from unmask.errors import InputError
from unmask.model.about import About
from unmask.model.bert import Bert
from unmask.model.config import BertConfig
from unmask.model.feature_heads import CHOICES, FeatureHead, make_feature_head, read_both_ways
from unmask.model.folder import open_model, save_model
from unmask.model.heads import BertWithHead
from unmask.text.tokenizer import Tokenizer
from unmask.text.vocabulary import SPECIAL_PIECES

TOKENIZER = Tokenizer([*SPECIAL_PIECES, *"abcdefgh"])
CONFIG = BertConfig(
    vocabulary_size=TOKENIZER.size, width=16, layers=5, heads=2, feed_forward=32, positions=16, pooler=False
)
SEQUENCES = [[2, 5, 6, 3], [2, 3], [2, 7, 8, 9, 10, 3], [2, 11, 12, 3]]


def made(name: str = "tokens", layers: str = "last", reader: str = "bilstm", outputs: int = 3) -> BertWithHead:
    head = make_feature_head(name, CONFIG, {"layers": layers, "reader": reader}, outputs=outputs, seed=1)
    return BertWithHead(Bert(CONFIG, seed=2), head).eval()


@pytest.mark.parametrize(
    ("layers", "numbers"),
    [
        ("embeddings", (0,)),
        ("second-to-last", (4,)),
        ("last", (5,)),
        ("weighted-last-4", (2, 3, 4, 5)),
        ("concat-last-4", (2, 3, 4, 5)),
        ("weighted-all", (1, 2, 3, 4, 5)),
    ],
)
def test_a_linear_head_reads_exactly_its_layers(layers: str, numbers: tuple[int, ...]) -> None:
    model, batch = made(layers=layers, reader="linear"), pack(SEQUENCES)
    kept = model.bert(batch, keep_layers=True).layers
    read = [kept[number] for number in numbers]
    features = torch.cat(read, dim=1) if "concat" in layers else torch.stack(read).mean(0)  # equal weights at first
    assert isinstance(model.head, FeatureHead)
    assert torch.allclose(model(batch), model.head.classifier(features), atol=1e-6)


def test_a_bilstm_reads_each_sequence_as_if_it_were_alone() -> None:
    lstm = torch.nn.LSTM(16, 8, bidirectional=True)
    batch = pack(SEQUENCES)
    x = torch.randn(len(batch.ids), 16)
    together = read_both_ways(lstm, x, batch.stacks)
    for rows, mine in zip(x.split(batch.lengths.tolist()), together.split(batch.lengths.tolist()), strict=True):
        assert torch.allclose(lstm(rows)[0], mine, atol=1e-6)


@pytest.mark.parametrize("name", ["tokens", "classes"])
def test_batch_mates_do_not_change_an_answer(name: str) -> None:
    model = made(name, "concat-last-4")
    batch = pack(SEQUENCES)
    numbers = model(batch).detach().numpy()
    together = batch.split(numbers) if model.per_token else batch.restore(numbers)
    for sequence, answer in zip(SEQUENCES, together, strict=True):
        assert torch.allclose(model(pack([sequence])).squeeze(0), torch.from_numpy(answer), atol=1e-5)


def test_every_weight_of_a_head_learns() -> None:
    model = made("classes", "weighted-all")
    model.learn(pack(SEQUENCES), None).square().sum().backward()
    assert all(value.grad is not None and value.grad.any() for value in model.head.parameters())


@pytest.mark.parametrize("layers", CHOICES)
@pytest.mark.parametrize(("name", "reader"), [("tags_crf", "bilstm"), ("classes", "linear"), ("regression", "bilstm")])
def test_a_folder_answers_as_before_it_was_saved(layers: str, name: str, reader: str, tmp_path: Path) -> None:
    labels = () if name == "regression" else ("x", "y", "z")
    model = made(name, layers, reader, outputs=len(labels) or 1)
    about = About(head=name, labels=labels, features={"layers": layers, "reader": reader})
    save_model(tmp_path / "saved", CONFIG, model, TOKENIZER, about)
    opened = open_model(tmp_path / "saved")
    assert opened.about == about
    assert not opened.report.unused
    assert torch.equal(opened.model(pack(SEQUENCES)), model(pack(SEQUENCES)))
    assert open_model(tmp_path / "saved", head=name).about == about


def test_transformers_opens_the_encoder_of_such_a_folder(tmp_path: Path) -> None:
    model = made()
    about = About(head="tokens", labels=("x", "y", "z"), features={"layers": "last", "reader": "bilstm"})
    save_model(tmp_path / "saved", CONFIG, model, TOKENIZER, about)
    card = (tmp_path / "saved" / "README.md").read_text()
    assert "last, read by bilstm" in card
    assert "the encoder in it, without its head" in card
    theirs = transformers.AutoModel.from_pretrained(tmp_path / "saved", add_pooling_layer=False).eval()
    hidden = theirs(input_ids=torch.tensor([SEQUENCES[0]])).last_hidden_state[0]
    assert torch.allclose(hidden, model.bert(pack([SEQUENCES[0]])).hidden, atol=1e-5)


@pytest.mark.parametrize(
    ("name", "features", "message"),
    [
        ("tokens", {"layers": "first", "reader": "linear"}, "features of 'first'"),
        ("tokens", {"layers": "last", "reader": "gru"}, "reader 'gru'"),
        ("embedding", {"layers": "last", "reader": "linear"}, "the head 'embedding'"),
    ],
)
def test_what_cannot_be_read_is_refused(name: str, features: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make_feature_head(name, CONFIG, features)
