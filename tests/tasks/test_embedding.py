"""Embeddings: both losses beside slow ones, scores, whole steps, and a folder that gives the same vectors."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from scoring import score

from unmask.data.examples import TextExample
from unmask.decode.embeddings import Embedded
from unmask.errors import InputError
from unmask.model.about import About
from unmask.model.bert import Bert
from unmask.model.config import BertConfig
from unmask.model.folder import open_model, save_model
from unmask.model.heads import BertWithHead, make_head
from unmask.model.outputs import outputs_of
from unmask.tasks.embedding import TextEmbedding
from unmask.tasks.finetuning import PART_TOKENS, ExampleBatches, FineTuning, FineTuningSettings
from unmask.tasks.finetuning_run import FineTuningRun, Request
from unmask.tasks.kinds import task_of
from unmask.tasks.task import make_batch
from unmask.text.tokenizer import Tokenizer
from unmask.text.vocabulary import SPECIAL_PIECES

LETTERS = "abcdefgh"
TOKENIZER = Tokenizer([*SPECIAL_PIECES, *LETTERS, *LETTERS.upper()], cased=True)
CONFIG = BertConfig(
    vocabulary_size=TOKENIZER.size, width=32, layers=2, heads=2, feed_forward=64, positions=512, pooler=False
)
VALUED = [TextExample("a b", "c", 5.0), TextExample("d", "e f g", 0.0), TextExample("h", "a", 2.5)]
PAIRED = [TextExample("a b", "c"), TextExample("d", "e f g", negative="h"), TextExample("f", "c")]
SAME = [TextExample(letter, letter.upper()) for letter in LETTERS]  # small and capital letters belong together
ALIKE = [
    TextExample(letter, LETTERS[place // 2 * 4].upper(), 5.0 * (place % 2)) for place, letter in enumerate(LETTERS[:4])
]


def fresh_model() -> BertWithHead:
    return BertWithHead(Bert(CONFIG), make_head("embedding", CONFIG))


def random_outputs(rows: int) -> torch.Tensor:
    return torch.randn(rows, 4, generator=torch.Generator().manual_seed(1), requires_grad=True)


def test_the_loss_is_chosen_by_the_labels() -> None:
    task = TextEmbedding.learned_from(VALUED)
    assert (task.loss, task.lowest, task.highest, task.metric) == ("regression", 0.0, 5.0, "spearman")
    cosines = [TextExample("a", "b", 0.2), TextExample("a", "c", 0.7)]
    assert TextEmbedding.learned_from(cosines).highest == 1.0
    assert TextEmbedding.learned_from(PAIRED).metric == "accuracy_at_1"


def test_single_texts_single_values_and_unknown_poolings_are_refused() -> None:
    with pytest.raises(InputError, match="wanted mean, cls, max"):
        TextEmbedding.learned_from(PAIRED, pooling="best")
    with pytest.raises(InputError, match="texts without a partner"):
        TextEmbedding.learned_from([TextExample("a")])
    with pytest.raises(InputError, match=r"the one value 3\.0"):
        TextEmbedding.learned_from([TextExample("a", "b", 3.0)])


def test_regression_is_the_squared_distance_of_cosine_and_value() -> None:
    task = TextEmbedding.learned_from(VALUED)
    batch = make_batch(task.rows(VALUED, TOKENIZER), per_token=False)
    vectors = random_outputs(6)  # in the order of the rows: text and pair by turns
    losses, _ = task.losses(vectors[torch.from_numpy(batch.ragged.order.copy())], batch)
    slow = sum(
        (F.cosine_similarity(vectors[2 * number], vectors[2 * number + 1], dim=0) - value) ** 2
        for number, value in enumerate((1.0, 0.0, 0.5))
    )
    assert torch.allclose(losses["pair"], torch.as_tensor(slow))
    assert task.counts(batch) == {"pair": 3.0}


def test_contrast_tells_a_pair_from_all_others_but_not_from_itself() -> None:
    task = TextEmbedding.learned_from(PAIRED)
    batch = make_batch(task.rows(PAIRED, TOKENIZER), per_token=False)
    vectors = random_outputs(7)  # a b, c · d, e f g, h · f, c
    losses, figures = task.losses(vectors[torch.from_numpy(batch.ragged.order.copy())], batch)
    unit = F.normalize(vectors, dim=-1)
    slow, right = torch.tensor(0.0), 0
    for own, partner, others in ((0, 1, (3, 4)), (2, 3, (1, 6, 4)), (5, 6, (3, 4))):  # both c are one text
        scores = torch.stack([unit[own] @ unit[other] for other in (partner, *others)]) / 0.05
        slow = slow - scores.log_softmax(0)[0]
        right += int(scores.argmax() == 0)
    assert torch.allclose(losses["pair"], slow, rtol=1e-5)
    assert figures["pair_accuracy"] == right
    losses["pair"].backward()
    assert vectors.grad is not None
    assert vectors.grad.abs().sum(1).gt(0).all()


def test_pairs_that_are_told_apart_go_through_in_one_piece() -> None:
    long = [TextExample("a " * 300, "b " * 300) for _ in range(20)]
    task = TextEmbedding.learned_from(long, longest=512)
    rows = task.rows(long, TOKENIZER)
    assert sum(len(row.ids) for row in rows) > PART_TOKENS
    assert len(ExampleBatches(rows, task, batch_size=20).parts(0)) == 1
    valued = TextEmbedding(loss="regression", longest=512)
    assert len(ExampleBatches(valued.rows(long, TOKENIZER), valued, batch_size=20).parts(0)) > 1


def test_scores_are_those_of_a_slow_search() -> None:
    task = TextEmbedding(loss="contrastive")
    rows = task.rows(SAME, TOKENIZER)
    outputs = [vector.detach().numpy() for vector in random_outputs(16)]
    unit = np.stack(outputs) / np.linalg.norm(outputs, axis=1, keepdims=True)
    ranks = [sum(unit[2 * i] @ unit[2 * j + 1] > unit[2 * i] @ unit[2 * i + 1] for j in range(8)) for i in range(8)]
    scores = task.scores(SAME, task.answers(SAME, rows, outputs))
    assert scores["accuracy_at_1"] == sum(rank == 0 for rank in ranks) / 8
    assert scores["mrr"] == pytest.approx(sum(1 / (1 + rank) for rank in ranks) / 8)


def test_pairs_with_values_are_scored_by_them_whatever_was_learned() -> None:
    task = TextEmbedding(loss="contrastive")
    rows = task.rows(VALUED, TOKENIZER)
    scores = task.scores(VALUED, task.answers(VALUED, rows, [vector.detach().numpy() for vector in random_outputs(6)]))
    assert scores.keys() == {"accuracy_at_1", "mrr", "spearman", "pearson"}


def test_texts_without_partners_or_values_have_no_score() -> None:
    answers = [Embedded(np.ones((2, 4), dtype=np.float32))] * 3
    with pytest.raises(InputError, match="pairs without values"):
        TextEmbedding().scores(PAIRED, answers)
    with pytest.raises(InputError, match="texts without a partner"):
        TextEmbedding().scores([TextExample("a", label=1.0)], [])


def test_an_answer_is_a_vector_of_length_one_for_each_text() -> None:
    task = TextEmbedding()
    examples = [TextExample("a b"), TextExample("c", "d")]
    rows = task.rows(examples, TOKENIZER)
    one, two = task.answers(examples, rows, outputs_of(fresh_model(), rows))
    assert (one.vectors.shape, two.vectors.shape) == ((1, 32), (2, 32))
    assert np.linalg.norm(two.to_dict()["vectors"], axis=1) == pytest.approx([1, 1])


@pytest.mark.parametrize(("examples", "metric"), [(SAME, "accuracy_at_1"), (ALIKE, "spearman")])
def test_a_tiny_model_learns_pairs_by_heart_and_its_folder_gives_the_same_vectors(
    examples: list[TextExample], metric: str, tmp_path: Path
) -> None:
    task, model = TextEmbedding.learned_from(examples, longest=16), fresh_model()
    settings = FineTuningSettings(epochs=60, batch_size=8, learning_rate=2e-3, dropout=0.0, evaluations=0.1)
    tuning = FineTuning(tmp_path / "run", task, model, TOKENIZER, examples, examples, settings)
    tuning.resume()
    assert all(standing.step.loss >= 0 for standing in tuning.train())
    rows = task.rows(examples, TOKENIZER)
    assert score(task, model, examples, rows)[metric] > 0.85
    save_model(tmp_path / "saved", CONFIG, model, TOKENIZER, About(head=task.head, **task.about))
    opened = open_model(tmp_path / "saved")
    again = task_of(opened.about, 512)
    assert again.metric == metric
    assert isinstance(opened.model, BertWithHead)
    said, before = (
        by.answers(examples, rows, outputs_of(by_model, rows))
        for by, by_model in ((again, opened.model), (task, model))
    )
    assert all((one.vectors == other.vectors).all() for one, other in zip(said, before, strict=True))


@pytest.mark.parametrize(("label", "metric"), [(",label", "spearman"), ("", "accuracy_at_1")])
def test_a_run_from_a_file_gives_a_folder_of_vectors(label: str, metric: str, tmp_path: Path) -> None:
    config = replace(CONFIG, positions=32)
    save_model(tmp_path / "encoder", config, Bert(config), TOKENIZER, About())
    lines = [
        f"{letter} a,{letter.upper()} b{',' + str(place) if label else ''}\n" for place, letter in enumerate(LETTERS)
    ]
    table = tmp_path / "pairs.csv"
    table.write_text(f"text_a,text_b{label}\n" + "".join(lines))
    changes, options = {"epochs": 1.0, "batch_size": 4}, {"pooling": "max"}
    folder = tmp_path / "out"
    run = FineTuningRun(
        Request("embed", str(tmp_path / "encoder"), table, folder, dev=table, changes=changes, options=options)
    )
    assert run.train().metric == metric
    opened = open_model(folder)
    assert (opened.about.pooling, opened.about.normalise) == ("max", True)
    assert (folder / "modules.json").exists(), "sentence-transformers opens it too"
