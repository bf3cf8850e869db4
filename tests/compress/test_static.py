"""Static vectors: the table is what the encoder says of pieces, layer norm does nothing, order does not matter."""

from pathlib import Path

import numpy as np
import pytest
import torch
from stores import TEXTS, TOKENIZER, model

from unmask.compress.quantize import quantize
from unmask.compress.static import piece_vectors, static_vectors, weights
from unmask.compress.variant import open_variant
from unmask.data.examples import TextExample
from unmask.data.ragged import pack
from unmask.decode.embeddings import normalised
from unmask.model.about import About
from unmask.model.bert import Bert
from unmask.model.folder import ModelFolder, open_model, save_model
from unmask.model.heads import BertWithHead
from unmask.model.names import LoadReport

COUNTS = {id: TEXTS[0].count("t") + id for id in range(5, TOKENIZER.size)}


def _static(width: int) -> BertWithHead:
    bare = model(None)
    assert isinstance(bare, Bert)
    return static_vectors(bare, TOKENIZER, width=width, counts=COUNTS)


def _vectors(static: BertWithHead, texts: list[str]) -> np.ndarray:
    batch = pack([TOKENIZER.encode(text).ids for text in texts])
    with torch.inference_mode():
        return normalised(batch.restore(static(batch).numpy()))


def test_a_text_is_the_weighted_mean_of_what_the_encoder_says_of_its_pieces() -> None:
    static, bare = _static(33), model(None)  # as wide as the encoder and one more: nothing is cut
    assert isinstance(bare, Bert)
    table = piece_vectors(bare, TOKENIZER).numpy()
    table -= table[~TOKENIZER.special].mean(0)
    table *= weights(TOKENIZER, COUNTS)[:, None]
    ids = [list(TOKENIZER.encode(text).ids[1:-1]) for text in TEXTS[:6]]
    slow = normalised(np.stack([table[own].mean(0) for own in ids]))
    fast = _vectors(static, TEXTS[:6])
    np.testing.assert_allclose(fast @ fast.T, slow @ slow.T, atol=1e-5)


def test_the_vector_of_a_piece_is_what_the_encoder_says_of_it_alone() -> None:
    bare = model(None)
    assert isinstance(bare, Bert)
    alone = bare(pack([[TOKENIZER.cls_id, 9, TOKENIZER.sep_id]])).hidden.mean(0)
    assert torch.allclose(piece_vectors(bare, TOKENIZER)[9], alone, atol=1e-5)


def test_frequent_pieces_count_less_and_order_does_not_count() -> None:
    counted = weights(TOKENIZER, {7: 1000, 8: 10})
    assert counted[7] < counted[8] < counted[9]
    by_order = weights(TOKENIZER, None)
    assert by_order[5] < by_order[50]
    both = _vectors(_static(16), ["the bakery is very clean", "clean very is bakery the"])
    np.testing.assert_allclose(both[0], both[1], atol=1e-5)


def test_the_folder_opens_again_and_says_the_same(tmp_path: Path) -> None:
    static = _static(16)
    about = About(head="embedding", pooling="mean", normalise=True)
    save_model(tmp_path / "static", static.bert.config, static, TOKENIZER, about)
    opened = open_model(tmp_path / "static")
    assert isinstance(opened.model, BertWithHead)
    assert np.array_equal(_vectors(opened.model, TEXTS), _vectors(static, TEXTS))


def test_the_table_can_be_rounded_to_int8(tmp_path: Path) -> None:
    static = _static(16)
    about = About(head="embedding", pooling="mean", normalise=True, max_length=16)
    quantize(ModelFolder(static.bert.config, static, TOKENIZER, about, LoadReport()), tmp_path / "int8")
    answers = open_variant(tmp_path / "int8").answers([TextExample(text) for text in TEXTS[:6]])
    rounded = np.concatenate([answer.vectors for answer in answers])
    assert ((rounded * _vectors(static, TEXTS[:6])).sum(1) > 0.999).all()


@pytest.mark.slow
def test_transformers_opens_the_folder_and_says_the_same(tmp_path: Path) -> None:
    from transformers import AutoModel, AutoTokenizer

    static = _static(16)
    save_model(tmp_path / "static", static.bert.config, static, TOKENIZER, About(head="embedding", normalise=True))
    theirs = AutoModel.from_pretrained(tmp_path / "static").eval()
    tokens = AutoTokenizer.from_pretrained(tmp_path / "static")(TEXTS[0], return_tensors="pt")
    with torch.inference_mode():
        hidden = theirs(**tokens).last_hidden_state[0].mean(0)
    np.testing.assert_allclose(normalised(hidden.numpy()), _vectors(static, TEXTS[:1])[0], atol=1e-5)
