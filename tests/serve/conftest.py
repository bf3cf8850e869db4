"""Small folders of every kind that is served, and a server of all of them in this process."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from small_models import small_model
from starlette.testclient import TestClient

from unmask.compress.export import export
from unmask.model.folder import save_model
from unmask.serve.models import Models
from unmask.serve.server import Settings, make_app

HEADS = {"words": "pretraining", "reviews": "classes", "stars": "regression", "names": "tokens", "reader": "span"}


def save(folder: Path, head: str | None, **about: object) -> Path:
    opened = small_model(head, **about)
    save_model(folder, opened.config, opened.model, opened.tokenizer, opened.about)
    return folder


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One of each by name; `quick` is a classifier exported for serving."""
    place = tmp_path_factory.mktemp("models")
    found = {name: save(place / name, head) for name, head in HEADS.items()}
    found["vectors"] = save(place / "vectors", "embedding", normalise=True)
    found["quick"] = export(small_model("classes"), place / "quick").folder
    return found


@pytest.fixture
def log() -> list[dict[str, Any]]:
    return []


@pytest.fixture
def client(folders: dict[str, Path], log: list[dict[str, Any]]) -> Iterator[TestClient]:
    models = Models(folders)
    models.open()
    settings = Settings(largest_body=3_000_000, log=lambda event, **fields: log.append({"event": event, **fields}))
    with TestClient(make_app(models, settings)) as client:
        yield client
