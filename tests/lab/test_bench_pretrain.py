from dataclasses import replace
from pathlib import Path

import pytest
import torch
from products import need_products_in

from unmask.lab import bench_pretrain
from unmask.lab.bench_pretrain import Speeds, Trial, make_trial, our_steps, rows_of, their_steps


@pytest.fixture
def trial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Trial:
    monkeypatch.setattr(bench_pretrain, "PIECES", 400)
    monkeypatch.setattr(bench_pretrain, "ROWS", 4)
    text = "\n\n".join(
        f"The owl number {n} sleeps.\nThe mouse number {n} does not.\nBoth are at home." for n in range(99)
    )
    (tmp_path / "text.txt").write_text(text, encoding="utf-8")
    return make_trial("tiny", 0.0, tmp_path / "text.txt", tmp_path)


def test_both_sides_learn_from_the_same_rows(trial: Trial) -> None:
    ours, theirs = our_steps(trial), their_steps(trial)
    for number in range(2):
        assert ours(number) == theirs(number)


def test_both_sides_learn_in_the_precision_asked_for(trial: Trial) -> None:
    need_products_in("bfloat16")
    halved = replace(trial, settings=replace(trial.settings, precision="bfloat16"))
    seen: set[torch.dtype] = set()
    hook = trial.learner.model.bert.layers[0].up.register_forward_hook(lambda _, __, wide: seen.add(wide.dtype))
    assert our_steps(halved)(0) == their_steps(halved)(0)
    hook.remove()
    assert seen == {torch.bfloat16}


def test_both_sides_start_from_the_same_weights(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    import transformers

    made = []
    real = transformers.BertForPreTraining
    monkeypatch.setattr(transformers, "BertForPreTraining", lambda config: made.append(real(config)) or made[-1])
    their_steps(trial)
    ours = trial.learner.model.bert.layers[1].down.weight
    assert torch.equal(made[0].bert.encoder.layer[1].output.dense.weight, ours)


def test_rows_are_the_drawn_ones(trial: Trial) -> None:
    examples = bench_pretrain._drawn(trial, 0)
    rows = rows_of(examples)
    assert [len(row["input_ids"]) for row in rows] == examples.lengths.tolist()
    assert [id for row in rows for id in row["input_ids"]] == examples.ids.tolist()


def test_the_ratio_is_ours_over_theirs_round_by_round() -> None:
    fields = Speeds("tiny", 0.1, (30.0, 20.0, 40.0), (10.0, 10.0, 10.0), our_memory=1, their_memory=4).to_dict()
    assert (fields["ratio"], fields["memory_ratio"]) == (3.0, 0.25)
