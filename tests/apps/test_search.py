"""Texts are found by what they mean, pairs and groups of them too, and an index is the same after it was saved."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score
from small_models import small_model

from tests.apps.word_vectors import WordVectors
from unmask.apps.clusters import MOST_LINKED, cluster_texts, typical_words
from unmask.apps.refusing import Refused
from unmask.apps.search import PlacedText, TextIndex, open_search, read_placed
from unmask.apps.vectors import TextVectors
from unmask.errors import InputError
from unmask.model.folder import save_model

TEXTS = [
    "rain fell on the hill",
    "snow fell on the hill",
    "a red lamp",
    "the red lamp burns",
    "天 地 人",
    "rain fell on the hill",
]
PLACED = [PlacedText(text, f"notes line {number}") for number, text in enumerate(TEXTS, 1)]


@pytest.fixture
def index() -> TextIndex:
    return TextIndex.of(PLACED, WordVectors())


def test_the_nearest_texts_come_first_with_their_cosines(index: TextIndex) -> None:
    found = index("rain on the hill", top=3)
    cosines = index.space(["rain on the hill"]) @ index.vectors.T
    order = np.argsort(-cosines[0], kind="stable")[:3]
    assert [hit.text for hit, _ in found.hits] == [TEXTS[place] for place in order]
    np.testing.assert_allclose([score for _, score in found.hits], cosines[0][order], atol=1e-6)


def test_a_bad_query_spares_the_others(index: TextIndex) -> None:
    first, bad, last = index.many(["red lamp", " ", "天"], top=1)
    assert isinstance(bad, Refused)
    assert "empty query" in bad.error
    assert (first.hits[0][0].text, last.hits[0][0].text) == ("a red lamp", "天 地 人")
    with pytest.raises(InputError, match="empty query"):
        index("")


@given(threshold=st.floats(-1, 1), most=st.integers(1, 20))
def test_near_pairs_are_those_of_all_cosines(threshold: float, most: int) -> None:
    index = TextIndex.of(PLACED, WordVectors())
    found = index.similar(threshold, most=most)
    cosines = index.vectors @ index.vectors.T
    pairs = [(cosines[i, j], i, j) for i in range(6) for j in range(i + 1, 6) if cosines[i, j] >= threshold]
    assert found.count == len(pairs)
    expected = sorted((float(score) for score, _, _ in pairs), reverse=True)[:most]
    np.testing.assert_allclose([score for _, _, score in found.pairs], expected, atol=1e-6)


def test_texts_that_are_equal_are_the_nearest_pair(index: TextIndex) -> None:
    first, second, score = index.similar(0.5, most=1).pairs[0]
    assert (first.place, second.place, round(score, 5)) == ("notes line 1", "notes line 6", 1.0)


def test_a_saved_index_finds_the_same_and_keeps_its_whitening(tmp_path: Path) -> None:
    opened = small_model(None)
    save_model(tmp_path / "model", opened.config, opened.model, opened.tokenizer, opened.about)
    texts = [
        PlacedText(f"{one} {other}", "")
        for one in ("the", "a", "fox", "dog", "it")
        for other in ("was", "not", "had", "see", "go")
    ]
    index = TextIndex.of(texts, TextVectors(tmp_path / "model"))
    assert index.space.whitening is not None
    index.save(tmp_path / "index")
    again = open_search(tmp_path / "index")
    assert again("the fox").to_dict() == index("the fox").to_dict()
    index.save(tmp_path / "index")
    other = small_model("embedding")
    save_model(tmp_path / "model", other.config, other.model, other.tokenizer, other.about)
    with pytest.raises(InputError, match="another version of the encoder"):
        open_search(tmp_path / "index")


def test_whitening_too_few_texts_is_refused_and_otherwise_left_out() -> None:
    untaught = WordVectors(taught=False)
    assert TextIndex.of(PLACED, untaught).space.whitening is None
    with pytest.raises(InputError, match="5 different texts; wanted at least 20"):
        TextIndex.of(PLACED, untaught, whiten=True)


def test_texts_are_read_from_lines_and_tables(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n\n two\tthree \n", encoding="utf-8")
    (tmp_path / "b.csv").write_text('id,text\n1,"one, two"\n2,\n', encoding="utf-8")
    assert [placed.text for placed in read_placed(tmp_path / "a.txt")] == ["one", " two\tthree "]
    assert read_placed(tmp_path / "b.csv") == [PlacedText("one, two", f"{tmp_path / 'b.csv'} line 2")]
    assert [placed.text for placed in read_placed(tmp_path / "b.csv", column="id")] == ["1", "2"]
    with pytest.raises(InputError, match="with columns 'id', 'text'; wanted a column 'body'"):
        read_placed(tmp_path / "b.csv", column="body")
    with pytest.raises(InputError, match="a folder; wanted a file of texts"):
        read_placed(tmp_path)
    (tmp_path / "c.txt").write_text("\n \n")
    with pytest.raises(InputError, match="no examples in"):
        read_placed(tmp_path / "c.txt")


# ---- groups


def three_clouds(count: int = 30) -> tuple[np.ndarray, np.ndarray]:
    labels = np.arange(count) % 3
    vectors = np.eye(8)[labels] + np.random.default_rng(0).normal(size=(count, 8)) * 0.1
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32), labels


@pytest.mark.parametrize("how", [{"k": 3}, {"threshold": 0.5}, {}])
def test_clouds_of_vectors_are_found_as_groups(how: dict[str, float]) -> None:
    vectors, labels = three_clouds()
    texts = [PlacedText(f"cloud{label} word{number}", str(number)) for number, label in enumerate(labels)]
    found = cluster_texts(texts, vectors, **how)
    given_to = {placed.place: number for number, group in enumerate(found.clusters) for placed in group.texts}
    assert adjusted_rand_score(labels, [given_to[placed.place] for placed in texts]) == 1
    assert {group.words[0] for group in found.clusters} == {"cloud0", "cloud1", "cloud2"}
    assert found.silhouette > 0.5


def test_the_central_text_is_nearest_to_the_middle() -> None:
    vectors, _ = three_clouds()
    texts = [PlacedText("x", str(number)) for number in range(30)]
    group = cluster_texts(texts, vectors, k=3).clusters[0]
    places = [int(placed.place) for placed in group.texts]
    middle = vectors[places].mean(0) / np.linalg.norm(vectors[places].mean(0))
    cosines = vectors[places] @ middle
    assert group.central is group.texts[0]
    assert (np.diff(cosines) <= 1e-6).all()
    assert group.cohesion == pytest.approx(cosines.mean(), abs=1e-6)


def test_words_of_all_groups_are_typical_of_none() -> None:
    said = [["the", "the", "rain"], ["the", "the", "snow"], ["the", "the", "rain"]]
    assert {label: words[0] for label, words in typical_words(said, np.array([0, 1, 0])).items()} == {
        0: "rain",
        1: "snow",
    }


@pytest.mark.parametrize(
    ("count", "how", "says"),
    [
        (3, {"k": 4}, "--k 4 for 3 texts; wanted at most 3"),
        (3, {"k": 2, "threshold": 0.5}, "--k and --threshold; wanted one of them"),
        (1, {}, "1 text; wanted at least two to group"),
        (MOST_LINKED + 1, {"threshold": 0.5}, "all pairs are held in memory; use --k"),
    ],
)
def test_what_cannot_be_grouped_is_said(count: int, how: dict[str, float], says: str) -> None:
    with pytest.raises(InputError, match=says):
        cluster_texts([PlacedText("x", "")] * count, np.ones((count, 2), np.float32), **how)


def test_answers_are_json(index: TextIndex) -> None:
    told = json.loads(json.dumps(cluster_texts(PLACED, index.vectors, k=2).to_dict()))
    assert list(told) == ["clusters", "count", "silhouette"]
    assert list(told["clusters"][0]) == ["name", "size", "words", "central", "cohesion", "texts"]
    assert list(index("rain").to_dict()["hits"][0]) == ["text", "place", "score"]
    assert list(index.similar(0.5, most=1).to_dict()["pairs"][0]) == ["first", "second", "score"]
