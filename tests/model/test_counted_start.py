"""A fresh model that begins with what counting finds."""

import numpy as np
import torch

from unmask.data.neighbours import Neighbours, count_neighbours
from unmask.model.bert import Bert
from unmask.model.config import BertConfig
from unmask.model.counted_start import DEVIATION, counted_start, information, strongest
from unmask.model.heads import BertWithHead, MaskedWords, make_head


def made_counts(size: int = 60) -> Neighbours:
    """Two topics that share nothing: even pieces stand among even ones, odd among odd; the last three never occur."""
    generator = np.random.default_rng(0)
    topics = [2 * generator.integers(2, size // 2 - 2, 400) + odd for odd in (0, 1)]
    return count_neighbours(np.concatenate(topics), size)


def test_information_is_that_of_the_definition() -> None:
    near = made_counts().near
    table = near.toarray().astype(np.float64)
    rows = table.sum(1)
    contexts = rows**0.75 / (rows**0.75).sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        expected = np.log(table / rows[:, None] / contexts[None, :])
    expected[~(expected > 0)] = 0
    assert np.allclose(information(near).toarray(), expected, atol=1e-5)


def test_directions_are_those_of_the_exact_singular_values() -> None:
    table = information(made_counts().near)
    exact = np.linalg.svd(table.toarray().astype(np.float64))
    expected = exact.U[:, :8] * np.sqrt(exact.S[:8])
    found = strongest(table, 8, np.random.default_rng(0))
    assert np.allclose(found @ found.T, expected @ expected.T, atol=2e-3)


def test_words_of_one_topic_start_near_each_other() -> None:
    start = counted_start(made_counts(), 16)
    units = start.vectors[start.counted] / np.linalg.norm(start.vectors[start.counted], axis=1, keepdims=True)
    topic = np.flatnonzero(start.counted) % 2
    cosines = units @ units.T
    same = topic[:, None] == topic[None, :]
    assert cosines[same].mean() > cosines[~same].mean() + 0.5
    assert np.isclose(start.vectors[start.counted].std(), DEVIATION, rtol=0.1)


def test_pieces_that_never_occur_and_all_else_start_as_usual() -> None:
    found = made_counts()
    config = BertConfig.named("tiny", vocabulary_size=64)  # more rows than the vocabulary has pieces
    plain, model = (BertWithHead(Bert(config), make_head("masked_words", config)) for _ in range(2))
    assert isinstance(model.head, MaskedWords)
    counted_start(found, config.width).set_weights(model.bert, model.head)
    changed = (plain.bert.embeddings.words.weight != model.bert.embeddings.words.weight).any(1).numpy()
    assert np.array_equal(np.flatnonzero(changed), np.flatnonzero(found.pieces))
    assert torch.equal(plain.bert.layers[0].qkv.weight, model.bert.layers[0].qkv.weight)
    shares = torch.softmax(model.head.bias[:60], 0).detach().numpy()
    assert np.allclose(shares, (found.pieces + 1) / (found.pieces + 1).sum(), atol=1e-6)


def test_the_same_text_and_seed_give_the_same_start() -> None:
    one, same, other = (counted_start(made_counts(), 16, seed) for seed in (1, 1, 2))
    assert one.vectors.tobytes() == same.vectors.tobytes() != other.vectors.tobytes()


def test_a_vocabulary_smaller_than_the_model_is_wide_is_no_trouble() -> None:
    start = counted_start(count_neighbours(np.array([0, 1, 2, 1]), 3), 128)
    assert start.vectors.shape == (3, 128)
    assert np.isfinite(start.vectors).all()


def test_a_text_of_one_word_is_no_trouble() -> None:
    start = counted_start(count_neighbours(np.array([1]), 3), 8)
    assert np.isfinite(start.vectors).all()
