"""Integrated gradients: exact where there is a closed form, complete, and captum's on transformers' BERT."""

from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from small_models import small_model
from torch import Tensor, nn

from unmask.errors import InputError
from unmask.explain.gradients import (
    TOLERANCE,
    Floats,
    baseline_vectors,
    clenshaw_curtis,
    finer_and_finer,
    gradient_times_input,
    gradients,
    integrated_gradients,
)
from unmask.explain.reading import NO_WORD, ReadRow, reading_of
from unmask.explain.subject import Subject
from unmask.explain.subjects import subject_of
from unmask.explain.target import class_target
from unmask.model.bert import Bert
from unmask.model.config import BertConfig
from unmask.model.folder import ModelFolder
from unmask.model.heads import BertWithHead, Embedding, make_head
from unmask.model.names import published_names

TEXT = "the quick brown fox was not what they had hoped for"
ASKED: dict[str | None, Any] = {
    "classes": TEXT,
    "regression": (TEXT, "nobody was lazy"),
    "tokens": "the fox was lazy",
    "tags_crf": "the fox was lazy",
    "span": ("what was lazy ?", TEXT),
    "embedding": (TEXT, "the lazy dog"),
    "masked_words": "the [MASK] was lazy",
    "pretraining": "the [MASK] was lazy",
    "next_sentence": (TEXT, "nobody was lazy"),
    None: (TEXT, "the lazy dog"),
}
NAMED = {"tokens": "fox=PER", "tags_crf": "fox=PER"}


def linear_subject() -> tuple[Subject, Tensor]:
    """No layers, no norm: the score is a weight times the mean of the embeddings."""
    opened = small_model("embedding")
    config = BertConfig(**{**opened.config.__dict__, "layers": 0})
    bert = Bert(config, seed=3)
    bert.embeddings.norm = nn.Identity()  # type: ignore[assignment]
    weight = torch.linspace(-1, 1, config.width)

    class Weighted(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.mean = Embedding()

        def forward(self, encoded: Any) -> Tensor:
            return (self.mean(encoded) @ weight)[:, None]

    encoding = opened.tokenizer.encode("the foxs was")
    tokens = zip(encoding.word_ids, encoding.offsets, strict=True)
    places = [None if word is None else (0, *span) for word, span in tokens]
    reading = reading_of(["the foxs was"], [ReadRow(encoding.ids, encoding.segments, places)])
    return Subject(BertWithHead(bert, Weighted()), opened.tokenizer, reading, class_target("value", 0, 1)), weight


@pytest.mark.parametrize(("baseline", "steps"), [*product(["pad", "mask", "zero"], [1, 7])])
def test_of_a_linear_model_they_are_the_weights_times_the_way(baseline: str, steps: int) -> None:
    subject, weight = linear_subject()
    tokens = (subject.vectors() - baseline_vectors(subject, baseline)) @ weight / len(subject.reading.ids)
    expected = [tokens[1], tokens[2] + tokens[3], tokens[4]]
    found = integrated_gradients(subject, baseline=baseline, steps=steps)
    np.testing.assert_allclose(found.scores, torch.stack(expected), atol=1e-6)
    assert found.completeness_error is not None
    assert found.completeness_error < 1e-6


@pytest.mark.parametrize("head", ASKED)
def test_scores_sum_up_to_what_all_words_change_in_every_task(head: str | None) -> None:
    subject = subject_of(small_model(head), ASKED[head], target=NAMED.get(head or ""))
    found = integrated_gradients(subject, steps=60)
    with torch.inference_mode():
        ends = torch.stack([baseline_vectors(subject, "pad"), subject.vectors()])
        lowest, highest = subject.scores_of_vectors(ends).tolist()
    assert found.scores.sum() == pytest.approx(highest - lowest, abs=2e-2 * max(1, np.abs(found.scores).sum()))
    assert found.completeness_error == pytest.approx(abs(found.scores.sum() - (highest - lowest)), abs=1e-5)


@pytest.mark.parametrize("head", ASKED)
def test_unaltered_vectors_have_the_score_of_the_text(head: str | None) -> None:
    subject = subject_of(small_model(head), ASKED[head], target=NAMED.get(head or ""))
    everything = np.ones((1, len(subject.reading.words)), bool)
    with torch.inference_mode():
        of_vectors = subject.scores_of_vectors(subject.vectors()[None]).numpy()
    np.testing.assert_allclose(of_vectors, subject.scores(everything), atol=1e-5)


def test_the_gradient_is_the_slope() -> None:
    subject = subject_of(small_model("classes"), TEXT)
    vectors, step = subject.vectors(), 1e-2
    slope = gradients(subject, vectors[None])[0]
    moved = torch.stack([vectors, vectors]).clone()
    moved[0, 3, 5] += step
    moved[1, 3, 5] -= step
    with torch.inference_mode():
        higher, lower = subject.scores_of_vectors(moved).tolist()
    assert slope[3, 5].item() == pytest.approx((higher - lower) / (2 * step), rel=0.05, abs=1e-3)
    expected = subject.reading.word_sums((slope * vectors).sum(-1).numpy())
    np.testing.assert_allclose(gradient_times_input(subject).scores, expected, atol=1e-6)


def test_no_weight_gets_a_gradient() -> None:
    opened = small_model("classes")
    integrated_gradients(subject_of(opened, TEXT), steps=2)
    assert all(weight.grad is None for weight in opened.model.parameters())


def test_without_a_number_of_steps_the_sum_misses_little_beside_the_largest_score() -> None:
    subject = subject_of(small_model("classes"), TEXT)
    found, exact = integrated_gradients(subject), integrated_gradients(subject, steps=300)
    assert found.completeness_error is not None
    assert found.completeness_error <= TOLERANCE * np.abs(found.scores).max()
    np.testing.assert_allclose(found.scores, exact.scores, atol=2 * TOLERANCE * np.abs(exact.scores).max())


def test_a_finer_rule_asks_only_between_the_places_that_it_knows() -> None:
    asked: list[float] = []

    def slopes(places: Floats) -> Floats:
        asked.extend(places)
        return (places**9)[:, None]

    found = list(finer_and_finer(slopes))
    assert [steps for steps, _ in found] == [17, 33, 65, 129]
    np.testing.assert_allclose([value.item() for _, value in found], 1 / 10)
    np.testing.assert_allclose(sorted(asked), clenshaw_curtis(128)[0], atol=1e-15)


@pytest.mark.parametrize(("sharpness", "expected"), [(1, 17), (1000, 129)])
def test_a_sharp_bend_takes_more_steps(sharpness: float, expected: int, monkeypatch: pytest.MonkeyPatch) -> None:
    subject = subject_of(small_model("classes"), TEXT)
    score = subject.scores_of_vectors
    middle = score(torch.stack([baseline_vectors(subject, "pad"), subject.vectors()])).mean().detach()
    bent = lambda _, vectors: (sharpness * (score(vectors) - middle)).tanh()  # noqa: E731
    monkeypatch.setattr(Subject, "scores_of_vectors", bent)
    assert integrated_gradients(subject).steps == expected


@pytest.mark.parametrize("intervals", [2, 16, 64])
def test_the_rule_of_clenshaw_and_curtis_is_exact_for_polynomials(intervals: int) -> None:
    places, weights = clenshaw_curtis(intervals)
    powers = np.arange(intervals + 1)
    np.testing.assert_allclose(weights @ places[:, None] ** powers, 1 / (powers + 1), rtol=1e-12)


def test_an_unknown_baseline_is_refused() -> None:
    with pytest.raises(InputError, match="pad, mask, zero"):
        integrated_gradients(subject_of(small_model("classes"), TEXT), baseline="noise")


def same_as_transformers() -> tuple[nn.Module, ModelFolder]:
    opened = small_model("classes")
    torch.manual_seed(0)
    settings = transformers.BertConfig(**opened.config.to_published(), num_labels=3, attn_implementation="eager")
    theirs = transformers.BertForSequenceClassification(settings).eval()
    ours = BertWithHead(Bert(opened.config), make_head("classes", opened.config, outputs=3)).eval()
    state = theirs.state_dict()
    names = published_names(opened.config, "classes")
    ours.load_state_dict({name: torch.cat([state[part] for part in parts]) for name, parts in names.items()})
    return theirs, ModelFolder(opened.config, ours, opened.tokenizer, opened.about, opened.report)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning")
@pytest.mark.parametrize("baseline", ["pad", "mask"])
def test_they_are_those_of_captum_on_transformers(baseline: str) -> None:
    from captum.attr import LayerIntegratedGradients

    theirs, opened = same_as_transformers()
    subject = subject_of(opened, (TEXT, "nobody was lazy"), target="fair")
    ids, segments = (torch.from_numpy(part)[None] for part in (subject.reading.ids, subject.reading.segments))
    blank = {"pad": opened.tokenizer.pad_id, "mask": opened.tokenizer.mask_id}[baseline]
    start = torch.where(torch.from_numpy(subject.reading.numbers == NO_WORD), ids, blank)
    method = LayerIntegratedGradients(
        lambda ids, segments: theirs(input_ids=ids, token_type_ids=segments).logits,
        theirs.bert.embeddings.word_embeddings,
    )
    found = method.attribute(ids, start, target=1, additional_forward_args=(segments,), n_steps=20)
    expected = subject.reading.word_sums(found[0].sum(-1).detach().numpy())
    ours = integrated_gradients(subject, steps=20, baseline=baseline).scores
    np.testing.assert_allclose(ours, expected, atol=1e-4)
    assert np.abs(expected).max() > 0.05
