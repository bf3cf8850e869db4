"""A small corpus of our own and a store of it, and an encoder and reviews to fine-tune it on, for tests of tasks."""

from pathlib import Path

import pytest
from reviews import PIECES, ROWS

from unmask.data.prepare import prepare
from unmask.data.store import Store
from unmask.model.about import About
from unmask.model.bert import Bert
from unmask.model.config import BertConfig
from unmask.model.folder import save_model
from unmask.text.learning import learn_vocabulary
from unmask.text.tokenizer import Tokenizer

ANIMALS = ("cat", "dog", "horse", "owl", "frog", "mouse")
PLACES = ("barn", "garden", "kitchen", "forest", "river", "attic")


def stories(count: int = 24) -> str:
    """Documents of a few sentences each; every second word can be told from its neighbours."""
    documents = []
    for number in range(count):
        animal, place = ANIMALS[number % 6], PLACES[(number // 6 + number) % 6]
        documents.append(
            f"The {animal} lives in the {place}.\nEvery morning the {animal} leaves the {place} and looks for food.\n"
            f"In the evening the {animal} comes back to the {place}.\nIt sleeps well, as {animal}s do.\n"
            f"Nobody in the {place} is afraid of story number {number}."
        )
    return "\n\n".join(documents) + "\n"


@pytest.fixture(scope="session")
def text_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("text") / "stories.txt"
    path.write_text(stories(), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def tokenizer() -> Tokenizer:
    return Tokenizer(learn_vocabulary([stories()], size=150))


@pytest.fixture(scope="session")
def store(text_file: Path, tokenizer: Tokenizer) -> Store:
    folder = text_file.parent / "store"
    prepare([text_file], folder, tokenizer)
    return Store.open(folder)


@pytest.fixture
def encoder(tmp_path: Path) -> Path:
    config = BertConfig(vocabulary_size=len(PIECES), width=32, layers=2, heads=2, feed_forward=64, positions=32)
    save_model(tmp_path / "encoder", config, Bert(config), Tokenizer(PIECES), About())
    return tmp_path / "encoder"


@pytest.fixture
def reviews(tmp_path: Path) -> Path:
    path = tmp_path / "reviews.csv"
    path.write_text("text,label\n" + "".join(f"{text},{label}\n" for text, label in ROWS))
    return path
