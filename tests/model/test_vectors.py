"""Initial vectors: three file formats read as gensim reads them, and pieces composed as four lines would."""

import gzip
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from unmask.errors import InputError
from unmask.model.vector_files import open_vectors
from unmask.model.vectors import piece_vectors, project
from unmask.text.tokenizer import Tokenizer
from unmask.text.vocabulary import SPECIAL_PIECES

WORDS = ["the", "king", "kings", "kingdom", "unkind", "Łódź", "new_york", "。", "王"]
VECTORS = np.random.default_rng(7).normal(1, 2, (len(WORDS), 12)).astype(np.float32)
PIECES = [*SPECIAL_PIECES, "the", "king", "##s", "##dom", "un", "##kind", "王", "zebra", "##zzz"]


def text_of(words: list[str], vectors: NDArray[np.float32]) -> str:
    return "".join(
        f"{word} {' '.join(map(repr, vector.tolist()))}\n" for word, vector in zip(words, vectors, strict=True)
    )


def write(folder: Path, form: str) -> Path:
    """The same words in one of the published forms."""
    path = folder / ("vectors.gz" if form.endswith("gz") else "vectors")
    header = f"{len(WORDS)} {VECTORS.shape[1]}\n".encode()
    text = text_of(WORDS, VECTORS).encode()
    rows = [word.encode() + b" " + vector.tobytes() for word, vector in zip(WORDS, VECTORS, strict=True)]
    content = {
        "glove": text,
        "word2vec text": header + text,
        "word2vec text with trailing blanks": header + text.replace(b"\n", b" \n"),
        "word2vec binary": header + b"".join(rows),
        "word2vec binary with line ends": header + b"".join(row + b"\n" for row in rows),
        "glove gz": gzip.compress(text),
        "word2vec binary gz": gzip.compress(header + b"".join(rows)),
    }[form]
    path.write_bytes(content)
    return path


FORMS = [
    "glove",
    "word2vec text",
    "word2vec text with trailing blanks",
    "word2vec binary",
    "word2vec binary with line ends",
    "glove gz",
    "word2vec binary gz",
]


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_words_and_vectors(tmp_path: Path, form: str) -> None:
    with open_vectors(write(tmp_path, form)) as file:
        rows = [(word, vector()) for word, vector in file.rows]
    assert [word for word, _ in rows] == WORDS
    assert np.array_equal(np.stack([vector for _, vector in rows]), VECTORS)
    assert file.width == 12


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("binary", [False, True])
def test_files_that_gensim_writes_are_read_as_gensim_reads_them(tmp_path: Path, binary: bool) -> None:
    gensim = pytest.importorskip("gensim.models.keyedvectors")
    vectors = gensim.KeyedVectors(12)
    vectors.add_vectors(WORDS, VECTORS)
    vectors.save_word2vec_format(str(tmp_path / "vectors"), binary=binary)
    again = gensim.KeyedVectors.load_word2vec_format(str(tmp_path / "vectors"), binary=binary)
    with open_vectors(tmp_path / "vectors") as file:
        for word, vector in file.rows:
            assert np.allclose(vector(), again[word], atol=1e-6)


def test_a_large_binary_file_is_read_across_block_borders(tmp_path: Path) -> None:
    vectors = np.random.default_rng(0).normal(size=(5000, 100)).astype(np.float32)
    rows = b"".join(f"word{number} ".encode() + vector.tobytes() for number, vector in enumerate(vectors))
    (tmp_path / "vectors.bin").write_bytes(b"5000 100\n" + rows)
    with open_vectors(tmp_path / "vectors.bin") as file:
        read = np.stack([vector() for _, vector in file.rows])
    assert np.array_equal(read, vectors)


def test_pieces_take_their_words_or_the_mean_of_words_that_have_them(tmp_path: Path) -> None:
    tokenizer = Tokenizer(PIECES)
    matrix, coverage = piece_vectors(tokenizer, write(tmp_path, "glove"), 12, np.random.default_rng(0))
    by_word = dict(zip(WORDS, VECTORS, strict=True))
    expected = {
        "the": by_word["the"],
        "king": by_word["king"],
        "##s": by_word["kings"],
        "##dom": by_word["kingdom"],
        "un": by_word["unkind"],
        "##kind": by_word["unkind"],
        "王": by_word["王"],
    }
    rows = np.stack([matrix[PIECES.index(piece)] for piece in expected])
    assert np.allclose(rows / rows[0, 0] * by_word["the"][0], np.stack(list(expected.values())), rtol=1e-4)
    assert (coverage.words, coverage.composed, coverage.drawn) == (3, 4, 7)
    assert coverage.share == pytest.approx(7 / 14)


def test_a_piece_of_several_words_is_their_mean(tmp_path: Path) -> None:
    (tmp_path / "vectors").write_text("a 1 1\nab 2 0\ncbb 0 4\nzz 9 9\n")
    matrix, _ = piece_vectors(
        Tokenizer([*SPECIAL_PIECES, "a", "c", "##b"]), tmp_path / "vectors", 2, np.random.default_rng(0)
    )
    assert np.allclose(matrix[7] / matrix[5], [1, 2], rtol=1e-5)


def test_the_files_own_spelling_wins_over_a_capital_one(tmp_path: Path) -> None:
    (tmp_path / "vectors").write_text("US 1 1\nus 1 2\nUs 1 3\nKing 1 4\nKING 1 5\n")
    matrix, _ = piece_vectors(
        Tokenizer([*SPECIAL_PIECES, "us", "king"]), tmp_path / "vectors", 2, np.random.default_rng(0)
    )
    assert np.allclose(matrix[5:, 1] / matrix[5:, 0], [2, 4])


@pytest.mark.parametrize("width", [4, 12, 40])
def test_the_matrix_has_berts_scale_and_the_models_width(tmp_path: Path, width: int) -> None:
    vectors = np.random.default_rng(0).normal(0, 3, (400, 12)).astype(np.float32)
    words = [f"word{number}" for number in range(400)]
    (tmp_path / "vectors").write_text(text_of(words, vectors))
    tokenizer = Tokenizer([*SPECIAL_PIECES, *words, *(f"other{number}" for number in range(400))])
    matrix, _ = piece_vectors(tokenizer, tmp_path / "vectors", width, np.random.default_rng(0))
    assert matrix.shape == (tokenizer.size, width)
    assert matrix.dtype == np.float32
    assert matrix[5:405].std() == pytest.approx(0.02, rel=0.05)
    assert matrix[405:].std() == pytest.approx(0.02, rel=0.05)
    assert matrix[5:405].std(axis=0) == pytest.approx(0.02, rel=0.5)  # every dimension has its share


def test_the_same_generator_gives_the_same_matrix(tmp_path: Path) -> None:
    path = write(tmp_path, "glove")
    first, again, other = (piece_vectors(Tokenizer(PIECES), path, 6, np.random.default_rng(n))[0] for n in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_products_are_kept_into_more_dimensions_and_best_into_fewer() -> None:
    generator = np.random.default_rng(3)
    wide = project(VECTORS, 20, generator)
    assert np.allclose(wide @ wide.T, VECTORS @ VECTORS.T, atol=1e-3)
    narrow = project(VECTORS, 3, generator)
    left, strengths, _ = np.linalg.svd(VECTORS)
    best = (left[:, :3] * strengths[:3] ** 2) @ left[:, :3].T
    assert np.allclose(narrow @ narrow.T, best, atol=1e-3)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "begins with b''"),
        (b"no vectors here\n", "begins with b'no vectors here"),
        (b"the 1 2\nking 1\n", "line 2: 1 numbers; wanted a word and 2 numbers"),
        (b"the 1 2\nking 1 2 3\n", "line 2: 3 numbers; wanted a word and 2 numbers"),
        (b"the 1 2\n\n", "line 2: 0 numbers"),
        (b"the 1 2\nking 1 x\n", "line 2: could not convert string to float"),
        (b"the 1 2\nking nan 2\n", "line 2: a value that is not a finite number"),
        (b"3 2\nthe 1 2\nking 1 2\n", "with 2 words; wanted 3"),
        (b"2 2\nthe 1 2\nking 1 2 3\n", "line 3: 3 numbers"),
        (b"2 2\nthe " + np.ones(2, np.float32).tobytes() + b"king \x00", "ends or breaks in word 2"),
        (b"zebras 1 2\nlion 3 4\n", "without a word of the vocabulary"),
    ],
)
def test_a_bad_file_is_refused_with_its_place(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "vectors").write_bytes(content)
    with pytest.raises(InputError, match=message):
        piece_vectors(Tokenizer(PIECES), tmp_path / "vectors", 4, np.random.default_rng(0))


def test_a_missing_file_is_the_users_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no file"):
        piece_vectors(Tokenizer(PIECES), tmp_path / "vectors", 4, np.random.default_rng(0))


def test_a_word_with_blanks_inside_is_read_as_published(tmp_path: Path) -> None:
    (tmp_path / "vectors").write_text("the 1 2\n. . . 3 4\nat name@domain.com 5 6\n")
    with open_vectors(tmp_path / "vectors") as file:
        assert [word for word, _ in file.rows] == ["the", ". . .", "at name@domain.com"]
