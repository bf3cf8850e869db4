"""Trials of the benches in little."""

from dataclasses import replace

import pytest

from unmask.lab import bench_finetune
from unmask.model.config import BertConfig


@pytest.fixture
def little_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    """A small model and few examples."""
    monkeypatch.setattr(bench_finetune, "MINILM", BertConfig(width=32, layers=1, heads=2, feed_forward=64))
    monkeypatch.setattr(bench_finetune, "PIECES", 60)
    monkeypatch.setattr(bench_finetune, "DROPOUT", 0.0)
    few = {name: replace(kind, batch_size=4, examples=8) for name, kind in bench_finetune.KINDS.items()}
    monkeypatch.setattr(bench_finetune, "KINDS", few)
