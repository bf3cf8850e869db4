"""Word embeddings in use: the same learning as with all of them, the others untouched, the whole table afterwards."""

from copy import deepcopy
from pathlib import Path

import torch
from reviews import PIECES, ROWS

from unmask.data.examples import TextExample
from unmask.data.rows import Row
from unmask.model.bert import Bert
from unmask.model.config import BertConfig
from unmask.model.heads import BertWithHead, make_head
from unmask.model.outputs import outputs_of
from unmask.tasks import finetuning
from unmask.tasks.classification import Classification
from unmask.tasks.finetuning import FineTuning, FineTuningSettings
from unmask.tasks.pieces_in_use import PiecesInUse
from unmask.text.tokenizer import Tokenizer

TOKENIZER = Tokenizer([*PIECES, *(f"other{number}" for number in range(50))])
CONFIG = BertConfig.named("tiny", vocabulary_size=TOKENIZER.size)
EXAMPLES = [TextExample(text, label=label) for text, label in ROWS]
TASK = Classification(("negative", "positive"))


def test_what_is_said_of_rows_stays_the_same_and_the_table_comes_back_whole() -> None:
    model = BertWithHead(Bert(CONFIG), make_head("classes", CONFIG, outputs=2)).eval()
    rows = TASK.rows(EXAMPLES, TOKENIZER)
    before, expected = deepcopy(model.state_dict()), outputs_of(model, rows)
    pieces = PiecesInUse(model.bert.embeddings.words, rows)
    assert len(model.bert.embeddings.words.weight) < len(PIECES)
    given = outputs_of(model, pieces.rows(rows))
    assert all((a == b).all() for a, b in zip(given, expected, strict=True))
    pieces.put_back()
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


def test_learning_is_that_of_the_whole_table_but_for_the_decay_of_unused_pieces(tmp_path: Path, monkeypatch) -> None:
    start = BertWithHead(Bert(CONFIG), make_head("classes", CONFIG, outputs=2))
    small = _learned(tmp_path / "small", start)
    monkeypatch.setattr(finetuning, "PiecesInUse", _AllPieces)
    whole = _learned(tmp_path / "whole", start)
    used = sorted({id for row in TASK.rows(EXAMPLES, TOKENIZER) for id in row.ids})
    unused = [id for id in range(TOKENIZER.size) if id not in used]
    name = "bert.embeddings.words.weight"
    for key, value in small.items():
        torch.testing.assert_close(
            value[used] if key == name else value, whole[key][used] if key == name else whole[key]
        )
    assert torch.equal(small[name][unused], start.state_dict()[name][unused])
    assert not torch.equal(whole[name][unused], start.state_dict()[name][unused])  # decayed


class _AllPieces(PiecesInUse):
    def __init__(self, words: torch.nn.Embedding, _: object) -> None:
        super().__init__(words, [Row(range(words.num_embeddings), (), 0)])


def _learned(folder: Path, start: BertWithHead) -> dict[str, torch.Tensor]:
    model = deepcopy(start)
    settings = FineTuningSettings(epochs=2, batch_size=8, learning_rate=1e-3, decay=0.1)
    tuning = FineTuning(folder, TASK, model, TOKENIZER, EXAMPLES, EXAMPLES[:4], settings)
    tuning.resume()
    for _ in tuning.train():
        pass
    return dict(model.state_dict())
