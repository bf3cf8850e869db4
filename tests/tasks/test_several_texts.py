"""Examples of several texts: every text knows its example and its part, and windows of one text speak as one."""

import numpy as np
import torch

from unmask.tasks.several_texts import learned_texts, outputs_of_texts, rows_of_texts
from unmask.tasks.task import make_batch
from unmask.text.tokenizer import Tokenizer
from unmask.text.vocabulary import SPECIAL_PIECES

TOKENIZER = Tokenizer([*SPECIAL_PIECES, *"abcdefgh"])
EXAMPLES = [[("a b c d e", None), ("f", None)], [("g", None), ("a", None), ("b h", None)]]
TARGETS = [np.array([[5], [6]]), np.array([[7], [8], [9]])]


def test_outputs_of_windows_are_averaged_and_texts_keep_their_order() -> None:
    rows = rows_of_texts(TOKENIZER, EXAMPLES, longest=4, long_text="windows")
    assert [(row.example, row.part) for row in rows] == [(0, 0)] * 4 + [(0, 1), (1, 0), (1, 1), (1, 2)]
    outputs = [np.array([float(number)], dtype=np.float32) for number in range(8)]
    found = outputs_of_texts(2, rows, outputs)
    assert [texts.ravel().tolist() for texts in found] == [[1.5, 4.0], [5.0, 6.0, 7.0]]


def test_a_batch_is_put_in_order_whatever_the_lengths() -> None:
    rows = rows_of_texts(TOKENIZER, EXAMPLES, longest=4, long_text="windows", targets=TARGETS)
    batch = make_batch(rows, per_token=False)
    outputs = torch.arange(8.0)[torch.from_numpy(batch.ragged.order.copy()), None]
    texts = learned_texts(outputs, batch)
    assert texts.examples.tolist() == [0, 0, 1, 1, 1]
    assert texts.parts.tolist() == [0, 1, 0, 1, 2]
    assert texts.targets.tolist() == [[5], [6], [7], [8], [9]]
    assert texts.outputs.ravel().tolist() == [1.5, 4.0, 5.0, 6.0, 7.0]
