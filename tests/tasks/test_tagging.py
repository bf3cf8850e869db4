"""Tagging: labels and losses by hand and against transformers, legal answers, learning by heart, saving."""

from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from unmask.data.examples import TaggedExample
from unmask.data.word_rows import NO_LABEL, WordRow
from unmask.decode.tags import legal_transitions, repair
from unmask.errors import InputError
from unmask.model.about import About
from unmask.model.bert import Bert
from unmask.model.config import BertConfig
from unmask.model.folder import open_model, save_model
from unmask.model.heads import BertWithHead, make_head
from unmask.model.names import to_published
from unmask.model.outputs import outputs_of
from unmask.tasks.finetuning import FineTuning, FineTuningSettings, TaskLearner
from unmask.tasks.kinds import task_of
from unmask.tasks.tagging import Tagging
from unmask.tasks.task import make_batch
from unmask.text.tokenizer import Tokenizer
from unmask.text.vocabulary import SPECIAL_PIECES

NAMES = ("ann", "bob", "carl", "dora")
PLACES = ("rome", "oslo", "lima", "人", "山")
PIECES = (*SPECIAL_PIECES, *NAMES, *PLACES, "lee", "new", "went", "to", "saw", "and", ".", "##s", "in")
TOKENIZER = Tokenizer(PIECES)
CONFIG = BertConfig(
    vocabulary_size=len(PIECES), width=32, layers=2, heads=4, feed_forward=64, positions=32, pooler=False, dropout=0.0
)
BOTH = pytest.mark.parametrize("crf", [False, True], ids=["softmax", "crf"])


def tagged(line: str, *, document: int = 0) -> TaggedExample:
    """A sentence as `Ann/B-PER went/O`."""
    pairs = [pair.rsplit("/", 1) for pair in line.split()]
    words, position = [], 0
    for word, _ in pairs:
        words.append((position, position + len(word)))
        position += len(word) + 1
    return TaggedExample(" ".join(word for word, _ in pairs), tuple(words), tuple(tag for _, tag in pairs), document)


def sentences() -> list[TaggedExample]:
    """A dozen sentences in which a name may have one word or two."""
    lines = []
    for number, (name, place) in enumerate(list(product(NAMES, PLACES))[:12]):
        person = f"{name}/B-PER lee/I-PER" if number % 2 else f"{name}s/B-PER"
        where = f"new/B-LOC {place}/I-LOC" if number % 3 else f"{place}/B-LOC"
        lines.append(f"{person} went/O to/O {where} ./O")
    return [tagged(line, document=number // 3) for number, line in enumerate(lines)]


def model_for(task: Tagging, seed: int = 0, deviation: float = 0.02) -> BertWithHead:
    config = replace(CONFIG, initial_deviation=deviation)
    return BertWithHead(Bert(config, seed), make_head(task.head, config, outputs=task.outputs, seed=seed + 1)).eval()


def lively(task: Tagging) -> BertWithHead:
    """A model whose answers differ from word to word, its random field too."""
    model = model_for(task, deviation=0.3)
    for parameter in model.head.parameters():
        parameter.data.normal_(0, 1, generator=torch.Generator().manual_seed(parameter.numel()))
    return model


def answers_of(task: Tagging, model: BertWithHead, examples: list[TaggedExample]) -> list[Any]:
    rows = task.rows(examples, TOKENIZER)
    return task.answers(examples, rows, outputs_of(model, rows))


@pytest.mark.parametrize(
    "tags",
    ["I-PER B-PER I-PER O", "B-PER B-PER I-PER O", "S-PER B-PER E-PER O"],
    ids=["IOB1", "IOB2", "BIOES"],
)
def test_files_of_every_scheme_give_the_same_labels(tags: str) -> None:
    example = TaggedExample("ann bob lee went", ((0, 3), (4, 7), (8, 11), (12, 16)), tuple(tags.split()))
    for inner in ("IOB2", "BIOES", "IOB1"):
        task = Tagging.learned_from([example], scheme=inner)
        (row,) = task.rows([example], TOKENIZER)
        assert row.target is not None
        labels = [task.labels[number] for number in row.target if number != NO_LABEL]
        assert (
            labels
            == {
                "IOB1": ["I-PER", "B-PER", "I-PER", "O"],
                "IOB2": ["B-PER", "B-PER", "I-PER", "O"],
                "BIOES": ["S-PER", "B-PER", "E-PER", "O"],
            }[inner]
        )


def test_labels_of_a_type_are_complete_even_if_not_all_were_seen() -> None:
    task = Tagging.learned_from([tagged("ann/B-PER")], scheme="BIOES")
    assert task.labels == ("O", "B-PER", "I-PER", "E-PER", "S-PER")


def test_examples_without_entities_are_refused() -> None:
    with pytest.raises(InputError, match="without an entity"):
        Tagging.learned_from([tagged("ann/O went/O")])


def test_a_type_that_was_not_learned_is_refused() -> None:
    task = Tagging.learned_from([tagged("ann/B-PER")])
    with pytest.raises(InputError, match=r"type 'LOC' in 'rome'; wanted one of PER"):
        task.rows([tagged("rome/B-LOC")], TOKENIZER)


def test_the_loss_is_transformers_own() -> None:
    examples = sentences()
    task = Tagging.learned_from(examples)
    model = lively(task)
    rows = task.rows(examples, TOKENIZER)
    batch = make_batch(rows, task.per_token)
    loss = TaskLearner(model, task)(batch, None)[0]["tag"].item()

    settings = transformers.BertConfig(**CONFIG.to_published())
    settings.num_labels = task.outputs
    theirs = transformers.BertForTokenClassification(settings).eval()
    theirs.load_state_dict(to_published(model.state_dict(), CONFIG, task.head), strict=True)
    longest = max(len(row.ids) for row in rows)
    padded = np.zeros((3, len(rows), longest), dtype=np.int64)
    padded[2] = NO_LABEL
    for number, row in enumerate(rows):
        assert row.target is not None
        padded[:, number, : len(row.ids)] = np.stack([np.array(row.ids), np.ones_like(row.target), row.target])
    ids, mask, labels = torch.from_numpy(padded)
    mean = theirs(input_ids=ids, attention_mask=mask, labels=labels).loss.item()
    assert loss / task.counts(batch)["tag"] == pytest.approx(mean, abs=1e-5)


def test_the_loss_of_the_field_is_that_of_each_row_alone() -> None:
    examples = [*sentences()[:5], tagged("ann/B-PER"), replace(tagged(""), tags=())]
    task = Tagging.learned_from(examples, crf=True)
    learner = TaskLearner(lively(task), task)
    rows = task.rows(examples, TOKENIZER)
    together = learner(make_batch(rows, True), None)[0]["tag"].item()
    alone = [learner(make_batch([row], True), None)[0]["tag"].item() for row in rows]
    assert together == pytest.approx(sum(alone), rel=1e-5)


@BOTH
def test_only_first_pieces_move_the_loss(crf: bool) -> None:
    examples = [tagged("anns/B-PER went/O to/O romes/B-LOC")]
    task = Tagging.learned_from(examples, crf=crf)
    batch = make_batch(task.rows(examples, TOKENIZER), True)
    outputs = lively(task)(batch.ragged).detach().requires_grad_()
    task.losses(outputs, batch)[0]["tag"].backward()
    assert outputs.grad is not None
    moved = outputs.grad.abs().sum(-1) > 0
    assert moved[: len(batch.targets)].tolist() == (batch.targets != NO_LABEL).tolist()
    assert moved[len(batch.targets) :].tolist() == [True] * (task.outputs + 2 if crf else 0)


@BOTH
@pytest.mark.parametrize("scheme", ["IOB1", "IOB2", "BIOES"])
def test_answers_are_always_legal(crf: bool, scheme: str) -> None:
    task = Tagging.learned_from(sentences(), scheme=scheme, crf=crf)
    start, transitions, end = legal_transitions(task.labels, scheme)
    for answer in answers_of(task, lively(task), sentences()):
        path = [task.labels.index(tag) for tag in answer.tags]
        assert start[path[0]] + end[path[-1]] + sum(transitions[step] for step in pairwise(path)) == 0
        assert repair(answer.tags, scheme) == list(answer.tags)


def given_scores(task: Tagging, example: TaggedExample, tags: list[str]) -> list[Any]:
    """The answer where the model is nearly sure of a tag for each word."""
    rows = task.rows([example], TOKENIZER)
    outputs = []
    for row in rows:
        assert isinstance(row, WordRow)
        output = np.zeros((len(row.ids), task.outputs), np.float32)
        output[row.places, [task.labels.index(tags[word]) for word in row.words]] = 2.0
        outputs.append(output)
    return task.answers([example], rows, outputs)


def test_entities_point_into_the_original_text() -> None:
    text = "Anns  Lee, 人 山!"
    example = TaggedExample(text, ((0, 4), (6, 9), (9, 10), (11, 12), (13, 14), (14, 15)))
    task = Tagging(("O", "B-PER", "I-PER", "B-LOC", "I-LOC"))
    (answer,) = given_scores(task, example, ["B-PER", "I-PER", "O", "B-LOC", "I-LOC", "O"])
    assert [(entity.type, entity.start, entity.end, entity.text) for entity in answer.entities] == [
        ("PER", 0, 9, "Anns  Lee"),
        ("LOC", 11, 14, "人 山"),
    ]
    sure = np.exp(2) / (np.exp(2) + 4)
    assert [entity.score for entity in answer.entities] == pytest.approx([sure, sure])


def test_a_word_that_vanishes_inside_an_entity_is_part_of_it() -> None:
    example = TaggedExample("new \x07 rome \x07", ((0, 3), (4, 5), (6, 10), (11, 12)))
    task = Tagging(("O", "B-LOC", "I-LOC"))
    (answer,) = given_scores(task, example, ["B-LOC", "?", "I-LOC", "?"])
    assert answer.tags == ("B-LOC", "I-LOC", "I-LOC", "O")
    assert [(entity.start, entity.end) for entity in answer.entities] == [(0, 10)]


def test_raw_text_is_read_in_the_words_that_were_learned() -> None:
    text, words = "u.s. ann-bob", ((0, 1), (1, 2), (2, 3), (3, 4), (5, 8), (8, 9), (9, 12))
    whole = Tagging(("O", "B-LOC", "I-LOC", "B-PER", "I-PER"))
    (answer,) = given_scores(whole, TaggedExample(text, words), ["B-LOC", "B-PER"])
    assert [entity.text for entity in answer.entities] == ["u.s.", "ann-bob"]
    assert answer.tags == ("B-LOC", "I-LOC", "I-LOC", "I-LOC", "B-PER", "I-PER", "I-PER")
    apart = replace(whole, whole_words=False)
    (answer,) = given_scores(apart, TaggedExample(text, words), ["B-LOC", "O", "O", "O", "O", "O", "B-PER"])
    assert [entity.text for entity in answer.entities] == ["u", "bob"]


def test_the_examples_say_whether_words_keep_their_marks() -> None:
    assert not Tagging.learned_from(sentences()).whole_words
    assert Tagging.learned_from([*sentences(), tagged("u.s./B-LOC")]).whole_words


def test_texts_of_no_document_are_no_context_for_one_another() -> None:
    task = Tagging(("O", "B-PER", "I-PER"), context=True)
    texts = [TaggedExample("ann", ((0, 3),)), TaggedExample("bob", ((0, 3),))]
    assert [len(row.ids) for row in task.rows(texts, TOKENIZER)] == [3, 3]


def test_windows_vote_and_agree_with_one_whole_reading() -> None:
    example = replace(tagged(" ".join(["ann/B-PER lee/I-PER went/O to/O rome/B-LOC ./O"] * 4)), tags=None)
    whole = Tagging(("O", "B-PER", "I-PER", "B-LOC", "I-LOC"), longest=32)
    tags = ["B-PER", "I-PER", "O", "O", "B-LOC", "O"] * 4
    (one,), (many,) = (given_scores(task, example, tags) for task in (whole, replace(whole, longest=9)))
    assert len(replace(whole, longest=9).rows([example], TOKENIZER)) > 4
    assert one == many
    assert list(one.tags) == tags


def test_a_vote_counts_as_much_as_the_word_has_context() -> None:
    task = Tagging(("O", "B-PER", "I-PER"))
    words, places = np.array([0]), np.array([1])
    near = WordRow([2, 7, 8, 9, 3], [0] * 5, 0, words=words, places=places)  # beside the edge
    inside = WordRow([2, 8, 7, 9, 3], [0] * 5, 0, words=words, places=places + 1)
    scores = [np.zeros((5, 3), np.float32) for _ in range(2)]
    scores[0][1], scores[1][2] = [3, 0, 0], [0, 2, 0]
    (answer,) = task.answers([TaggedExample("ann", ((0, 3),))], [near, inside], scores)
    assert answer.tags == ("B-PER",)  # 1 × 3 against 2 × 2


def test_scores_are_conlleval_s() -> None:
    task = Tagging(("O", "B-LOC", "I-LOC", "B-PER", "I-PER"))
    example = tagged("ann/I-PER lee/I-PER saw/O rome/I-LOC and/O oslo/I-LOC")  # IOB1
    answers = given_scores(task, replace(example, tags=None), ["B-PER", "I-PER", "O", "B-LOC", "O", "O"])
    assert task.scores([example], answers) == pytest.approx(
        {"f1": 0.8, "precision": 1, "recall": 2 / 3, "accuracy": 5 / 6, "f1_LOC": 2 / 3, "f1_PER": 1}
    )


@BOTH
@pytest.mark.parametrize("context", [False, True], ids=["alone", "context"])
def test_a_dozen_sentences_are_learned_by_heart(tmp_path: Path, crf: bool, context: bool) -> None:
    examples = sentences()
    task = Tagging.learned_from(examples, crf=crf, context=context, longest=24)
    settings = FineTuningSettings(epochs=12, batch_size=4, learning_rate=1e-2, dropout=0.0, evaluations=0.25)
    tuning = FineTuning(tmp_path, task, model_for(task), TOKENIZER, examples, examples, settings)
    scores = [standing.scores for standing in tuning.train() if standing.scores]
    assert max(score["f1"] for score in scores) == 1.0


def test_a_field_s_entities_are_as_sure_as_all_its_paths_make_them() -> None:
    task = Tagging(("O", "B-PER", "I-PER"), head="tags_crf")
    output = np.zeros((4 + 5, 3), np.float32)  # [CLS] ann lee [SEP], then the field
    output[1, 1], output[4 + 1, 2] = 9.0, 2.0  # B-PER at first, which I-PER follows well
    (row,) = task.rows([TaggedExample("ann lee", ((0, 3), (4, 7)))], TOKENIZER)
    (answer,) = task.answers([TaggedExample("ann lee", ((0, 3), (4, 7)))], [row], [output])
    (entity,) = answer.entities
    follows = np.exp(2) / (np.exp(2) + 2)
    assert entity.text == "ann lee"
    assert entity.score == pytest.approx((1 + follows) / 2, abs=1e-3)


@BOTH
def test_what_was_saved_answers_the_same(tmp_path: Path, crf: bool) -> None:
    task = Tagging.learned_from(sentences(), crf=crf, scheme="BIOES", context=True, longest=24)
    model = lively(task)
    save_model(tmp_path / "tagger", CONFIG, model, TOKENIZER, About(head=task.head, **task.about))
    opened = open_model(tmp_path / "tagger")
    reopened = task_of(opened.about, opened.config.positions)
    assert reopened == task
    assert isinstance(opened.model, BertWithHead)
    examples = sentences()
    assert answers_of(reopened, opened.model, examples) == answers_of(task, model, examples)


def test_transformers_opens_a_tagger_with_a_field_without_it(tmp_path: Path) -> None:
    task = Tagging.learned_from(sentences(), crf=True)
    model = lively(task)
    save_model(tmp_path / "tagger", CONFIG, model, TOKENIZER, About(head=task.head, **task.about))
    theirs, report = transformers.AutoModelForTokenClassification.from_pretrained(
        tmp_path / "tagger", output_loading_info=True
    )
    assert sorted(report["unexpected_keys"]) == ["crf.end_transitions", "crf.start_transitions", "crf.transitions"]
    assert not report["missing_keys"]
    (row,) = task.rows(sentences()[:1], TOKENIZER)
    (ours,) = outputs_of(model, [row])
    logits = theirs.eval()(torch.tensor([row.ids])).logits[0]
    torch.testing.assert_close(torch.from_numpy(ours[: len(row.ids)]), logits, rtol=0, atol=2e-5)


def test_a_published_field_is_recognised_without_our_description(tmp_path: Path) -> None:
    task = Tagging.learned_from(sentences(), crf=True)
    save_model(tmp_path / "tagger", CONFIG, lively(task), TOKENIZER, About(head=task.head, **task.about))
    (tmp_path / "tagger" / "unmask.json").unlink()
    about = open_model(tmp_path / "tagger").about
    assert task_of(about, 24) == replace(task, longest=24, whole_words=True)
