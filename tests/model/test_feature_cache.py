"""Features on disk are those of the encoder, for any batch of the rows, and are computed once."""

import errno
import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from unmask.data.ragged import pack
from unmask.data.rows import Row
from unmask.errors import InputError
from unmask.model.bert import Bert
from unmask.model.config import BertConfig
from unmask.model.feature_cache import FeatureCache, with_cache
from unmask.model.feature_heads import make_feature_head
from unmask.model.heads import BertWithHead
from unmask.model.outputs import outputs_of

CONFIG = BertConfig(vocabulary_size=20, width=16, layers=4, heads=2, feed_forward=32, positions=16, pooler=False)
ROWS = [Row(ids, [0] * len(ids), number) for number, ids in enumerate([[2, 5, 6, 3], [2, 3], [2, 9, 3], [2, 5, 6, 3]])]
ROWS.append(Row([2, 5, 6, 3], [0, 0, 1, 1], 4))  # the same pieces in other segments are another row


@pytest.fixture
def model() -> BertWithHead:
    head = make_feature_head("tokens", CONFIG, {"layers": "weighted-all", "reader": "linear"}, outputs=3)
    return BertWithHead(Bert(CONFIG), head)


def test_cached_features_are_those_of_the_encoder_in_any_batch(tmp_path: Path, model: BertWithHead) -> None:
    cache = FeatureCache(tmp_path, model.bert, (1, 4), ROWS)
    assert cache.tokens == 4 + 2 + 3 + 4, "equal rows are kept once"
    for chosen in ([0, 1, 2, 3, 4], [4, 0], [2]):
        batch = pack([ROWS[i].ids for i in chosen], [ROWS[i].segments for i in chosen])
        kept = model.bert.eval()(batch, keep_layers=True).layers
        assert torch.allclose(cache.features(batch), torch.stack([kept[1], kept[4]], dim=1), atol=2e-3)


def test_a_model_on_cached_features_answers_as_the_whole_one(tmp_path: Path, model: BertWithHead) -> None:
    cached = with_cache(model, tmp_path, ROWS)
    for ours, whole in zip(outputs_of(cached, ROWS), outputs_of(model, ROWS), strict=True):
        assert np.allclose(ours, whole, atol=2e-3)
    assert all(name.startswith("head.") for name in cached.state_dict())


def test_features_are_computed_once_and_given_back(tmp_path: Path, model: BertWithHead) -> None:
    told: list[tuple[int, int]] = []
    for _ in range(2):
        cache = FeatureCache(tmp_path, model.bert, (4,), ROWS, lambda *done: told.append(done))
        assert cache.stored.shape == (13, 1, 16)
    assert told == [(13, 13)]
    cache.remove()
    assert not list(tmp_path.iterdir())


def test_another_model_or_other_rows_are_another_file(tmp_path: Path, model: BertWithHead) -> None:
    paths = [
        FeatureCache(tmp_path, bert, layers, rows).path
        for bert, layers, rows in (
            (model.bert, (4,), ROWS),
            (model.bert, (3,), ROWS),
            (model.bert, (4,), ROWS[:2]),
            (Bert(CONFIG, seed=9), (4,), ROWS),
        )
    ]
    assert len(set(paths)) == 4


def test_a_full_disk_is_said_in_a_line(tmp_path: Path, model: BertWithHead) -> None:
    def full(*_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(InputError, match=r"0\.0 GB for features"):
        FeatureCache(tmp_path, model.bert, (4,), ROWS, full).stored  # noqa: B018
    assert not list(tmp_path.iterdir())


def test_a_disk_without_room_is_noticed_before_the_work(
    tmp_path: Path, model: BertWithHead, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache, told = FeatureCache(tmp_path, model.bert, (1, 4), ROWS), list[int]()
    assert cache.bytes == len(cache.stored.tobytes())
    cache.remove()
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=cache.bytes - 1))
    with pytest.raises(InputError, match="a disk that is too full"):
        FeatureCache(tmp_path, model.bert, (1, 4), ROWS, lambda done, _: told.append(done)).stored  # noqa: B018
    assert not told
