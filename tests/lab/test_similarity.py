from pathlib import Path

import numpy as np
import pytest

from unmask.errors import InputError
from unmask.lab.similarity import WordPair, read_similarity, similarity, word_vectors
from unmask.model.static_encoder import static_encoder
from unmask.text.tokenizer import Tokenizer
from unmask.text.vocabulary import SPECIAL_PIECES

TOKENIZER = Tokenizer([*SPECIAL_PIECES, "sea", "ocean", "lamp", "light", "##house"])
VECTORS = np.zeros((10, 3), np.float32)
VECTORS[5:] = [[1, 0, -1], [1, 0.1, -1], [-1, 1, 0], [-1, 0.9, 0], [0, 1, -1]]
PAIRS = [WordPair("sea", "ocean", 9), WordPair("lamp", "light", 8), WordPair("sea", "lamp", 1)]


def test_like_words_of_people_are_like_words_of_the_vectors() -> None:
    assert similarity(static_encoder(VECTORS), TOKENIZER, PAIRS) == pytest.approx(1.0, abs=0.51)
    turned = [WordPair(pair.first, pair.second, -pair.score) for pair in PAIRS]
    assert similarity(static_encoder(VECTORS), TOKENIZER, PAIRS) == -similarity(
        static_encoder(VECTORS), TOKENIZER, turned
    )  # type: ignore[operator]


def test_a_words_vector_is_the_mean_of_its_pieces() -> None:
    encoder = static_encoder(VECTORS)
    whole, first = word_vectors(encoder, TOKENIZER, ["lighthouse", "light"])
    second = word_vectors(static_encoder(VECTORS[[0, 1, 2, 3, 4, 5, 6, 7, 9, 9]]), TOKENIZER, ["light"])[0]
    mean = first + second
    np.testing.assert_allclose(whole, mean / np.linalg.norm(mean), atol=1e-5)


def test_words_that_the_vocabulary_lacks_are_left_out() -> None:
    assert similarity(static_encoder(VECTORS), TOKENIZER, [*PAIRS[:2], WordPair("sea", "zebra", 3)]) is None


@pytest.mark.parametrize(
    ("text", "said"), [("sea ocean 9\nsea lamp\n", "line 2"), ("sea ocean 9\n", "1 pairs"), ("", "0 pairs")]
)
def test_a_file_that_is_no_list_of_pairs_is_refused(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "pairs.txt"
    path.write_text(text)
    with pytest.raises(InputError, match=said):
        read_similarity(path)
