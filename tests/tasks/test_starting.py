"""Where a run starts: word vectors, another model with more pieces, and what is said of it afterwards."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from unmask.data.ragged import pack
from unmask.errors import InputError
from unmask.model.about import About
from unmask.model.bert import Bert
from unmask.model.config import BertConfig
from unmask.model.folder import open_model, save_model
from unmask.model.heads import BertWithHead, make_head
from unmask.tasks.objectives import Learner, make_model
from unmask.tasks.pretraining_run import Outcome, PretrainingRun, Request
from unmask.tasks.starting import Start, find_start, start_from_model, start_from_vectors, weights_hash
from unmask.text.tokenizer import Tokenizer
from unmask.text.vocabulary import SPECIAL_PIECES

LETTERS_INSIDE = [f"##{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"]
SHAPE = BertConfig(width=16, layers=1, heads=2, feed_forward=32, positions=64, initial_deviation=0.2)
CHANGES = {"steps": 4, "lengths": (24,), "batch_tokens": 96, "part_tokens": 96, "held_out": 0.3, "seed": 3}


@pytest.fixture
def ask(text_file: Path, tmp_path: Path) -> Callable[..., Request]:
    def request(**more: Any) -> Request:
        changes = {**CHANGES, **more.pop("changes", {})}
        size = None if "from_model" in more else "tiny"
        asked = {"paths": [text_file], "folder": tmp_path / "run", "size": size, "changes": changes}
        return Request(**{**asked, **more})  # type: ignore[arg-type]

    return request


@pytest.fixture
def folder(tokenizer: Tokenizer, tmp_path: Path) -> Callable[[str | None], Path]:
    """A folder with a small model under a head, or bare."""

    def make(head: str | None, name: str = "source") -> Path:
        config = replace(SHAPE, vocabulary_size=tokenizer.size, pooler=head == "pretraining")
        bert = Bert(config, seed=7)
        model = bert if head is None else BertWithHead(bert, make_head(head, config, seed=8))
        save_model(tmp_path / name, config, model, tokenizer, About(head=head))
        return tmp_path / name

    return make


def run(request: Request) -> tuple[Outcome, list[str]]:
    notes: list[str] = []
    return PretrainingRun(request, notes.append).finish(lambda _: None), notes


def state(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in model.state_dict().items()}


def vectors_of(folder: Path, words: str) -> Path:
    path = folder / "vectors.txt"
    path.write_text("".join(f"{word} {place + 1} {-place} 0.5\n" for place, word in enumerate(words.split())))
    return path


def test_vectors_become_the_word_embeddings_and_nothing_else(tokenizer: Tokenizer, tmp_path: Path) -> None:
    config = replace(SHAPE, vocabulary_size=tokenizer.size)
    learner = Learner(make_model(config, "mlm", seed=0), "mlm")
    before = state(learner)
    coverage = start_from_vectors(learner, tokenizer, vectors_of(tmp_path, "the cat garden"), seed=0)
    changed = [name for name, value in state(learner).items() if not torch.equal(value, before[name])]
    assert changed == ["model.bert.embeddings.words.weight"]
    assert coverage.words + coverage.composed + coverage.drawn == tokenizer.size
    assert coverage.words == 3


def test_a_run_from_vectors_says_and_keeps_their_coverage(ask: Callable[..., Request], tmp_path: Path) -> None:
    _, notes = run(ask(init_vectors=vectors_of(tmp_path, "the cat garden morning")))
    assert any("vectors.txt covers" in note for note in notes)
    provenance = json.loads((tmp_path / "run" / "unmask.json").read_text())["provenance"]
    assert provenance["start"]["vectors"] == "vectors.txt"
    assert 0 < provenance["start"]["share"] < 1


def test_other_vectors_are_noticed_when_a_run_is_resumed(ask: Callable[..., Request], tmp_path: Path) -> None:
    run(ask(init_vectors=vectors_of(tmp_path, "the cat")))
    with pytest.raises(InputError, match="other settings: start"):
        run(ask(init_vectors=vectors_of(tmp_path, "the dog")))


def test_a_resumed_run_keeps_its_checkpoint_not_its_start(ask: Callable[..., Request], tmp_path: Path) -> None:
    request = ask(init_vectors=vectors_of(tmp_path, "the cat garden morning"))
    first = PretrainingRun(request)
    first.finish(lambda _: None)
    again = PretrainingRun(request)
    assert again.pretraining.run.step == CHANGES["steps"]
    assert weights_hash(again.pretraining.learner) == weights_hash(first.pretraining.learner)


HEADS = {
    "pretraining": ((), ()),
    "masked_words": (("pooler", "next-sentence head"), ()),
    None: (("pooler", "masked-word head", "next-sentence head"), ()),
}


@pytest.mark.parametrize("head", HEADS)
def test_going_on_takes_what_is_there_and_names_what_is_fresh(
    head: str | None, folder: Callable[..., Path], tokenizer: Tokenizer
) -> None:
    opened = open_model(folder(head))
    config = replace(opened.config, pooler=True)
    learner = Learner(make_model(config, "mlm+nsp", seed=1), "mlm+nsp")
    continued = start_from_model(learner, opened.model)
    assert (continued.fresh, continued.left_out) == HEADS[head]
    ids = tokenizer.encode("The cat lives in the garden.").ids
    with torch.inference_mode():
        assert torch.equal(learner.model.bert(pack([ids])).hidden, opened.bert(pack([ids])).hidden)


def test_an_objective_without_pairs_leaves_their_head_out(folder: Callable[..., Path]) -> None:
    opened = open_model(folder("pretraining"))
    learner = Learner(make_model(replace(opened.config, pooler=False), "mlm", seed=1), "mlm")
    assert start_from_model(learner, opened.model).left_out == ("pooler", "next-sentence head")


def test_a_run_goes_on_with_the_models_tokenizer_and_reports_before_and_after(
    ask: Callable[..., Request], folder: Callable[..., Path], tokenizer: Tokenizer, text_file: Path, tmp_path: Path
) -> None:
    request = ask(
        from_model=str(folder("pretraining")), general=text_file, changes={"steps": 30, "learning_rate": 3e-3}
    )
    outcome, notes = run(request)
    assert notes[0] == "going on from source"
    assert outcome.before is not None
    assert outcome.after is not None
    assert outcome.before.keys() == outcome.after.keys() == {"domain", "general"}
    assert outcome.after["domain"] == pytest.approx(outcome.mlm_loss)
    assert outcome.after["domain"] < outcome.before["domain"]
    assert outcome.after["general"] < outcome.before["general"]
    assert outcome.to_dict()["before"] == outcome.before
    assert all(example["text"].count("[MASK]") == 1 for example in outcome.to_dict()["examples"])
    assert len(outcome.examples) == 5
    reached = open_model(tmp_path / "run")
    assert reached.tokenizer.vocabulary_hash == tokenizer.vocabulary_hash
    assert (reached.config.layers, reached.config.width, reached.config.positions) == (1, 16, 64)
    assert reached.about.provenance["start"]["model"] == "source"
    assert reached.about.scores["after"] == outcome.after


def test_a_resumed_run_still_knows_where_it_began(ask: Callable[..., Request], folder: Callable[..., Path]) -> None:
    request = ask(from_model=str(folder("pretraining")))
    first, _ = run(request)
    again, notes = run(request)
    assert (again.before, again.after) == (first.before, first.after)
    assert not any("source" in note for note in notes)


def test_a_model_goes_on_with_more_layers(ask: Callable[..., Request], folder: Callable[..., Path]) -> None:
    request = ask(from_model=str(folder("pretraining")), layers=2)
    _, notes = run(request)
    assert any("it has 2 in place of 1 layers" in note for note in notes)
    reached = open_model(request.folder)
    assert reached.config.layers == 2
    assert reached.about.provenance["start"]["layers"] == "2 in place of 1"
    run(request)  # taken up again: the very same run
    with pytest.raises(InputError, match="size"):
        run(replace(request, layers=None))


def test_the_tokens_of_all_sittings_are_counted_from_model_to_model(
    ask: Callable[..., Request], folder: Callable[..., Path], tmp_path: Path
) -> None:
    named, seen = str(folder("pretraining")), 0
    for number in range(3):
        outcome, _ = run(ask(from_model=named, folder=tmp_path / f"run-{number}"))
        told = open_model(tmp_path / f"run-{number}").about.provenance
        assert told["tokens"] == outcome.tokens
        assert told["start"].get("tokens", 0) == seen  # what was learned from before the first is not known
        seen += outcome.tokens
        assert told.get("tokens_in_all", outcome.tokens) == seen
        named = outcome.folder


def test_a_card_edited_by_hand_does_not_stop_a_run_at_its_end(
    ask: Callable[..., Request], folder: Callable[..., Path]
) -> None:
    named = folder("pretraining")
    described = json.loads((named / "unmask.json").read_text())
    described["provenance"]["tokens"] = "some 5,000 in all"
    (named / "unmask.json").write_text(json.dumps(described))
    outcome, _ = run(ask(from_model=str(named)))
    assert "tokens_in_all" not in open_model(outcome.folder).about.provenance


def test_the_texts_best_words_become_pieces(
    ask: Callable[..., Request], folder: Callable[..., Path], tokenizer: Tokenizer, tmp_path: Path
) -> None:
    _, notes = run(ask(from_model=str(folder("masked_words")), additions="2"))
    reached = open_model(tmp_path / "run")
    assert reached.tokenizer.size == tokenizer.size + 2 == reached.config.vocabulary_size
    for word in reached.tokenizer.pieces[-2:]:
        assert len(tokenizer.encode(word).ids) > 3
        assert word in notes[0]
    run(ask(from_model=str(tmp_path / "source"), additions="2"))
    with pytest.raises(InputError, match="another vocabulary"):
        run(ask(from_model=str(tmp_path / "source"), additions="3"))


def test_words_from_a_file_become_pieces(
    ask: Callable[..., Request], folder: Callable[..., Path], tmp_path: Path
) -> None:
    (tmp_path / "words.txt").write_text("Gardens\n\nmousehole\nthe\n")
    run(ask(from_model=str(folder("pretraining")), additions=str(tmp_path / "words.txt")))
    assert open_model(tmp_path / "run").tokenizer.pieces[-2:] == ("gardens", "mousehole")


@pytest.mark.parametrize("head", ["pretraining", None])
@pytest.mark.parametrize("counted", [True, False])
def test_a_model_goes_on_under_another_vocabulary(
    ask: Callable[..., Request], folder: Callable[..., Path], tmp_path: Path, head: str | None, counted: bool
) -> None:
    other = tmp_path / "other.txt"
    other.write_text("\n".join([*SPECIAL_PIECES, *"abcdefghijklmnopqrstuvwxyz", "the", "garden", *LETTERS_INSIDE]))
    request = ask(from_model=str(folder(head)), vocabulary=other, changes={"counted_start": counted})
    outcome, notes = run(request)
    assert any("its vocabulary is another" in note for note in notes)
    reached = open_model(request.folder)
    assert reached.tokenizer.size == reached.config.vocabulary_size == len(other.read_text().split("\n"))
    assert (reached.config.layers, reached.config.width) == (1, 16)
    told = reached.about.provenance["start"]["pieces"]
    assert sum(told.values()) == reached.tokenizer.size
    again, _ = run(request)
    assert (again.before, again.after) == (outcome.before, outcome.after)


def test_a_vocabulary_may_be_learned_for_a_model_that_has_another(
    ask: Callable[..., Request], folder: Callable[..., Path]
) -> None:
    request = ask(from_model=str(folder("pretraining")), vocabulary_size=90)
    run(request)
    assert open_model(request.folder).tokenizer.size == 90


def test_a_run_goes_on_gently_unless_told_otherwise(ask: Callable[..., Request], folder: Callable[..., Path]) -> None:
    going_on = ask(from_model=str(folder("pretraining")))
    assert PretrainingRun(going_on).settings.learning_rate == 1e-4
    told = ask(from_model=str(folder("pretraining")), changes={"learning_rate": 1e-3}, folder=going_on.folder / "other")
    assert PretrainingRun(told).settings.learning_rate == 1e-3


def test_a_store_of_another_vocabulary_is_refused(
    ask: Callable[..., Request], folder: Callable[..., Path], store: Any, tmp_path: Path
) -> None:
    (tmp_path / "words.txt").write_text("mousehole\n")
    additions = str(tmp_path / "words.txt")
    with pytest.raises(InputError, match=r"a store of another vocabulary.*source with its additions"):
        run(ask(paths=[store.folder], from_model=str(folder("pretraining")), additions=additions))
    with pytest.raises(InputError, match="whose words are cut already"):
        run(ask(paths=[store.folder], from_model=str(folder("pretraining")), additions="5"))
    outcome, _ = run(ask(paths=[store.folder], from_model=str(folder("pretraining"))))
    assert outcome.steps == CHANGES["steps"]


def test_sequences_longer_than_the_models_positions_are_refused(
    ask: Callable[..., Request], folder: Callable[..., Path]
) -> None:
    with pytest.raises(InputError, match="at most the 64 positions"):
        run(ask(from_model=str(folder("pretraining")), changes={"lengths": (128,)}))


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"vectors": Path("v.txt"), "model": "m"}, "one start"),
        ({"additions": "5"}, "wanted --from"),
        ({"layers": 6}, "wanted --from"),
        ({"model": "m", "additions": "5", "other_pieces": True}, "one of the two"),
        ({"vectors": Path("no-such-file")}, "no file"),
        ({"model": "run", "folder": Path("run")}, "another folder"),
    ],
)
def test_contradictory_starts_are_refused(asked: dict[str, Any], words: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=words):
        find_start([], **{"folder": tmp_path, **asked})


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"general": Path("news.txt")}, "without --from"),
    ],
)
def test_flags_that_mean_nothing_together_are_refused(
    asked: dict[str, Any], words: str, ask: Callable[..., Request]
) -> None:
    with pytest.raises(InputError, match=words):
        PretrainingRun(ask(**asked))


def test_a_fresh_start_changes_nothing(tokenizer: Tokenizer) -> None:
    config = replace(SHAPE, vocabulary_size=tokenizer.size)
    learner = Learner(make_model(config, "mlm", seed=0), "mlm")
    before = weights_hash(learner)
    assert Start().set_weights(learner, tokenizer, 0) == {}
    assert weights_hash(learner) == before
