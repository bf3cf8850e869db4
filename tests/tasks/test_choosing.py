"""Multiple choice: rows, the loss over different numbers of endings, answers, and a folder that chooses as before."""

from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from scoring import score

from unmask.data.examples import ChoiceExample
from unmask.model.about import About
from unmask.model.bert import Bert
from unmask.model.config import BertConfig
from unmask.model.folder import open_model, save_model
from unmask.model.heads import BertWithHead, make_head
from unmask.model.outputs import outputs_of
from unmask.tasks.choosing import Choosing
from unmask.tasks.finetuning import FineTuning, FineTuningSettings
from unmask.tasks.finetuning_run import FineTuningRun, Request
from unmask.tasks.kinds import task_of
from unmask.tasks.task import make_batch
from unmask.text.tokenizer import Tokenizer
from unmask.text.vocabulary import SPECIAL_PIECES

TOKENIZER = Tokenizer([*SPECIAL_PIECES, *"abcdefgh", "why"])
EXAMPLES = [ChoiceExample("a b", ("c", "d e f"), 1), ChoiceExample("g", ("h", "a", "b c"), 0)]
CONFIG = BertConfig(vocabulary_size=TOKENIZER.size, width=32, layers=2, heads=2, feed_forward=64, positions=32)
LETTERS = "abcdef"
QUICK = {"epochs": 1.0}
KNOWN = [  # the letters a to d end well, the others do not
    ChoiceExample("g", ("e", good, "f")[: 2 + place % 2], 1) if place < 2 else ChoiceExample("h", (good, "f", "e"), 0)
    for place, good in enumerate("abcd")
]


def fresh_model() -> BertWithHead:
    return BertWithHead(Bert(CONFIG), make_head("choice", CONFIG))


def test_every_ending_stands_beside_the_context() -> None:
    rows = Choosing().rows(EXAMPLES[:1], TOKENIZER)
    read = [[TOKENIZER.pieces[id] for id in row.ids] for row in rows]
    assert read == [["[CLS]", "a", "b", "[SEP]", "c", "[SEP]"], ["[CLS]", "a", "b", "[SEP]", "d", "e", "f", "[SEP]"]]
    assert rows[0].segments == [0, 0, 0, 0, 1, 1]
    assert [row.target.tolist() for row in rows if row.target is not None] == [[0, 0], [1, 1]]


def test_a_question_stands_before_each_ending() -> None:
    asked = ChoiceExample("a b", ("c", "d"), question="why e")
    rows = Choosing().rows([asked], TOKENIZER)
    assert [TOKENIZER.pieces[id] for id in rows[1].ids] == ["[CLS]", "a", "b", "[SEP]", "why", "e", "d", "[SEP]"]
    assert rows[0].target is None


@pytest.mark.parametrize(("long_text", "kept"), [("head", "abcd"), ("tail", "efgh")])
def test_a_long_context_gives_way_before_its_ending(long_text: str, kept: str) -> None:
    (row,) = Choosing(longest=8, long_text=long_text).rows([ChoiceExample("a b c d e f g h", ("a",))], TOKENIZER)
    assert [TOKENIZER.pieces[id] for id in row.ids] == ["[CLS]", *kept, "[SEP]", "a", "[SEP]"]


def test_the_loss_is_a_softmax_over_the_endings_of_each_example() -> None:
    batch = make_batch(Choosing().rows(EXAMPLES, TOKENIZER), per_token=False)
    scores = torch.randn(5, generator=torch.Generator().manual_seed(1), requires_grad=True)  # in the order of the rows
    order = torch.from_numpy(batch.ragged.order.copy())
    losses, figures = Choosing().losses(scores[order, None], batch)
    slow = F.cross_entropy(scores[None, :2], torch.tensor([1])) + F.cross_entropy(scores[None, 2:], torch.tensor([0]))
    assert torch.allclose(losses["choice"], slow)
    assert figures["choice_accuracy"] == int(scores[1] > scores[0]) + int(scores[2:].argmax() == 0)
    assert Choosing().counts(batch) == {"choice": 2.0}
    (gradient,) = torch.autograd.grad(losses["choice"], scores)
    (expected,) = torch.autograd.grad(slow, scores)
    assert torch.allclose(gradient, expected)
    assert gradient.isfinite().all()


def test_a_tiny_model_learns_a_choice_by_heart_and_its_folder_chooses_the_same(tmp_path: Path) -> None:
    task, model = Choosing.learned_from(KNOWN, longest=16), fresh_model()
    settings = FineTuningSettings(epochs=40, batch_size=4, learning_rate=2e-3, dropout=0.0, evaluations=0.1)
    tuning = FineTuning(tmp_path / "run", task, model, TOKENIZER, KNOWN, KNOWN, settings)
    tuning.resume()
    assert all(standing.step.loss >= 0 for standing in tuning.train())
    rows = task.rows(KNOWN, TOKENIZER)
    assert score(task, model, KNOWN, rows) == {"accuracy": 1.0}
    save_model(tmp_path / "saved", CONFIG, model, TOKENIZER, About(head=task.head, **task.about))
    opened = open_model(tmp_path / "saved")
    again = task_of(opened.about, 512)
    assert again == task
    assert isinstance(opened.model, BertWithHead)
    said = again.answers(KNOWN, rows, outputs_of(opened.model, rows))
    assert said == task.answers(KNOWN, rows, outputs_of(model, rows))
    assert said[0].to_dict()["choice"] == 1


def test_a_run_from_a_file_without_dev_gives_a_folder_that_chooses(tmp_path: Path) -> None:
    save_model(tmp_path / "encoder", CONFIG, Bert(CONFIG), TOKENIZER, About())
    lines = [f"g {first},{second},h,0\n" for first in LETTERS for second in LETTERS[:4]]
    (tmp_path / "choices.csv").write_text("context,ending0,ending1,label\n" + "".join(lines))
    request = Request("choose", str(tmp_path / "encoder"), tmp_path / "choices.csv", tmp_path / "out", changes=QUICK)
    outcome = FineTuningRun(request).train()
    assert (outcome.metric, outcome.examples + outcome.dev_examples) == ("accuracy", len(lines))
    assert task_of(open_model(tmp_path / "out").about, 512) == Choosing(longest=32)
