import numpy as np
import torch

from unmask.data.ragged import pack
from unmask.model.dropout import Chance
from unmask.model.elmo import Elmo, elmo_config, open_elmo, save_elmo

CONFIG = elmo_config(vocabulary_size=50, width=32)


def changed(one: list[torch.Tensor], other: list[torch.Tensor]) -> list[list[bool]]:
    return [(a - b).abs().sum(1).gt(0).tolist() for a, b in zip(one, other, strict=True)]


def test_the_forward_half_never_sees_what_follows_nor_the_backward_half_what_went_before() -> None:
    elmo = Elmo(CONFIG)
    _, ahead, back = elmo.directions(pack([[2, 7, 8, 9, 3], [2, 5, 3]]))
    _, other_ahead, other_back = elmo.directions(pack([[2, 7, 8, 10, 3], [2, 5, 3]]))
    assert changed(ahead, other_ahead) == [[False] * 3 + [False, False, False, True, True]] * 2
    assert changed(back, other_back) == [[False] * 3 + [True, True, True, True, False]] * 2


def test_batch_mates_do_not_change_a_sequence() -> None:
    elmo, sequences = Elmo(CONFIG), [[2, 7, 8, 9, 3], [2, 5, 3], [2, 6, 6, 3]]
    together = pack(sequences)
    rows = together.split(elmo(together).hidden.detach().numpy())
    for sequence, row in zip(sequences, rows, strict=True):
        np.testing.assert_allclose(row, elmo(pack([sequence])).hidden.detach().numpy(), atol=1e-6)


def test_a_direction_is_what_a_plain_lstm_says() -> None:
    elmo, ids = Elmo(CONFIG), [2, 7, 8, 9, 3]
    words = elmo.words(torch.tensor(ids))[:, None]
    _, ahead, back = elmo.directions(pack([ids]))
    first, _ = elmo.ahead[0](words)
    second, _ = elmo.ahead[1](first)
    torch.testing.assert_close(ahead[1], (first + second)[:, 0])
    turned, _ = elmo.back[0](words.flip(0))
    torch.testing.assert_close(back[0], turned.flip(0)[:, 0])


def test_dropout_is_a_function_of_the_step() -> None:
    elmo, batch = Elmo(CONFIG), pack([[2, 7, 8, 3]])
    one, same, other = (elmo(batch, chance=Chance(0, step)).hidden for step in (1, 1, 2))
    assert torch.equal(one, same)
    assert not torch.equal(one, other)


def test_what_was_saved_answers_the_same(tmp_path) -> None:  # type: ignore[no-untyped-def]
    elmo, batch = Elmo(CONFIG, seed=3), pack([[2, 7, 8, 3]])
    save_elmo(tmp_path, elmo)
    assert torch.equal(open_elmo(tmp_path)(batch).hidden, elmo(batch).hidden)
