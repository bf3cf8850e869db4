"""A chat is learned from dialogues through the one loop, resumes exactly, and is whole or not there."""

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from chats import small_encoder, talks, write_talks
from safetensors.numpy import load_file

import unmask
from unmask.apps.chat import Chat, open_chat
from unmask.apps.chat_models import Learning, choices, start_from_next_sentence
from unmask.apps.chat_training import ChatOutcome, ChatTraining, best_threshold
from unmask.apps.reply_scores import learn_weights
from unmask.apps.turns import Said
from unmask.data.dialogues import Exchange
from unmask.data.ragged import pack
from unmask.errors import InputError
from unmask.model.folder import open_model
from unmask.tasks.finetuning_run import FineTuningRun, Request


class Stopped(Exception):
    pass


def learning(model: Path, **changes: Any) -> Learning:
    return Learning(
        model=str(model), most_read=60, epochs=3, learning_rate=3e-3, length=32, changes={"dropout": 0.0}, **changes
    )


@pytest.fixture(scope="module", autouse=True)
def kept() -> Iterator[None]:
    """Every cross-encoder is kept: so small a tower knows these dialogues by heart, and would do without."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("unmask.apps.chat_training.reading_helps", lambda _: True)
        patch.setattr(
            "unmask.apps.chat_training.learn_weights",
            lambda numbers: replace(learn_weights(numbers), reading=0.01 if numbers.reading[0].any() else 0.0),
        )
        yield


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ChatOutcome]:
    home = tmp_path_factory.mktemp("chat")
    training = ChatTraining(
        home / "chat", [write_talks(home / "talks.jsonl")], learning(small_encoder(home / "encoder"))
    )
    return home, training.train()


def test_a_trained_chat_chooses_replies_better_than_an_untrained_one_and_chance(
    trained: tuple[Path, ChatOutcome],
) -> None:
    scores = trained[1].scores
    assert scores["chat"]["r10_at_1"] > scores["untrained"]["r10_at_1"]
    assert scores["chat"]["r10_at_1"] > 2 * scores["random"]["r10_at_1"]
    assert trained[1].dialogues + trained[1].held_out == len(talks())


def test_the_folder_says_what_it_is_and_opens_as_a_chat(trained: tuple[Path, ChatOutcome]) -> None:
    home, outcome = trained
    told = json.loads((home / "chat" / "unmask.json").read_text())
    assert (told["app"], told["version"]) == ("chat", 1)
    chat = open_chat(home / "chat")
    assert isinstance(chat, Chat)
    assert chat.threshold == outcome.threshold
    reply = chat("do you like soup?")
    assert reply.candidates[0].answer == "yes, soup is good."
    assert not list(home.glob(".chat.*"))


def test_what_was_held_out_is_said_as_well_once_it_was_measured_on(trained: tuple[Path, ChatOutcome]) -> None:
    said = {turn for talk in talks() for turn in talk[1:]}
    assert set(open_chat(trained[0] / "chat").base.responses) == said
    assert trained[1].responses == len(said)


def test_what_is_finished_is_not_done_again(trained: tuple[Path, ChatOutcome]) -> None:
    home, outcome = trained

    def never(run: FineTuningRun) -> Any:
        raise AssertionError(f"{run.request.folder} is trained again")

    again = ChatTraining(home / "chat", [home / "talks.jsonl"], learning(home / "encoder")).train(never)
    assert again == outcome


def test_an_interrupted_training_goes_on_to_the_same_chat(trained: tuple[Path, ChatOutcome]) -> None:
    home, _ = trained

    def stopped_at(step: int) -> Any:
        def train(run: FineTuningRun) -> Any:
            taken = run.train(stop=lambda: run.tuning.run.step >= step and run.request.task == "choose")
            if run.tuning.run.step < run.tuning.steps:
                raise Stopped
            return taken

        return train

    def training() -> ChatTraining:
        return ChatTraining(home / "again", [home / "talks.jsonl"], learning(home / "encoder"))

    with pytest.raises((Stopped, KeyboardInterrupt)):
        training().train(stopped_at(3))
    assert not (home / "again").exists()
    training().train()
    for name in ("tower", "cross"):
        ours, theirs = (load_file(home / chat / name / "model.safetensors") for chat in ("chat", "again"))
        assert all(np.array_equal(ours[key], theirs[key]) for key in theirs)
    assert (home / "again" / "exchanges.jsonl").read_bytes() == (home / "chat" / "exchanges.jsonl").read_bytes()


def test_the_cross_encoder_begins_with_what_the_next_sentence_head_says(tmp_path: Path) -> None:
    encoder = small_encoder(tmp_path / "encoder")
    rows = [{"context": "do you like tea?", "endings": ["yes.", "no."], "label": place % 2} for place in range(4)]
    (tmp_path / "choices.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    run = FineTuningRun(Request("choose", str(encoder), tmp_path / "choices.jsonl", tmp_path / "cross"))
    assert start_from_next_sentence(run)
    opened = open_model(encoder)
    read = opened.tokenizer.encode("do you like tea?", "yes.")
    batch = pack([read.ids], [read.segments])
    with torch.inference_mode():
        follows = opened.model(batch)[1][0]
        assert torch.allclose(run.model.eval()(batch)[0, 0], follows[0] - follows[1], atol=1e-6)


def test_without_a_next_sentence_head_the_cross_encoder_begins_with_the_tower(tmp_path: Path) -> None:
    encoder = small_encoder(tmp_path / "encoder", head=None)
    outcome = ChatTraining(
        tmp_path / "chat",
        [write_talks(tmp_path / "talks.jsonl")],
        Learning(str(encoder), most=40, most_read=20, length=32),
    ).train()
    assert outcome.model == str(encoder)
    assert "tower" in json.loads((tmp_path / "chat" / "cross" / "unmask.json").read_text())["provenance"]["start"]


def test_a_cross_encoder_that_does_not_help_is_left_out(
    trained: tuple[Path, ChatOutcome], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("unmask.apps.chat_training.reading_helps", lambda _: False)
    told = list[str]()
    shown = Learning(str(trained[0] / "encoder"), most=40, most_read=20, length=32)
    outcome = ChatTraining(tmp_path / "chat", [trained[0] / "talks.jsonl"], shown).train(note=told.append)
    assert not outcome.cross_encoder_kept
    assert "does without" in " ".join(told)
    assert not (tmp_path / "chat" / "cross").exists()
    assert open_chat(tmp_path / "chat")("do you like soup?").candidates


def test_wrong_replies_are_never_the_real_one_again() -> None:
    said = [
        Exchange((f"do you like {thing}?",), "yes!" if number % 2 else thing) for number, thing in enumerate("abcdef")
    ]
    for row in choices(said, said, seed=0):
        real = row["endings"].pop(row["label"])
        assert not any(wrong in Said([real]) for wrong in row["endings"])
        assert len(set(row["endings"])) == len(row["endings"])


def test_the_threshold_divides_what_can_be_divided() -> None:
    threshold, replied, refused = best_threshold(np.array([0.7, 0.9]), np.array([0.1, 0.2]))
    assert 0.2 < threshold < 0.7
    assert (replied, refused) == (1.0, 1.0)


def test_a_folder_with_other_things_in_it_is_refused_before_any_work(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "diary.txt").write_text("private")
    with pytest.raises(InputError, match="holds other things"):
        ChatTraining(tmp_path / "mine", [write_talks(tmp_path / "talks.jsonl")], Learning())


def test_too_few_dialogues_are_refused(tmp_path: Path) -> None:
    (tmp_path / "one.jsonl").write_text('["Tea?", "Yes."]\n')
    with pytest.raises(InputError, match="1 dialogues; wanted at least 4"):
        ChatTraining(tmp_path / "chat", [tmp_path / "one.jsonl"], Learning())


def test_a_chat_whose_tower_was_replaced_is_refused(trained: tuple[Path, ChatOutcome], tmp_path: Path) -> None:
    shutil.copytree(trained[0] / "chat", tmp_path / "chat")
    config = tmp_path / "chat" / "tower" / "config.json"
    config.write_text(config.read_text() + " ")
    with pytest.raises(InputError, match="another version of the encoder"):
        open_chat(tmp_path / "chat")


@pytest.mark.parametrize("name", ["exchanges.jsonl", "responses.npy", "situations.npy"])
def test_a_damaged_chat_folder_is_refused_in_one_line(
    trained: tuple[Path, ChatOutcome], tmp_path: Path, name: str
) -> None:
    shutil.copytree(trained[0] / "chat", tmp_path / "chat")
    whole = (tmp_path / "chat" / name).read_bytes()
    (tmp_path / "chat" / name).write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError):
        open_chat(tmp_path / "chat")


def test_a_model_folder_is_no_chat(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="wanted a folder of the application 'chat'"):
        open_chat(small_encoder(tmp_path / "encoder"))


def test_load_gives_the_chat_of_a_folder(trained: tuple[Path, ChatOutcome]) -> None:
    chat = unmask.load(trained[0] / "chat")
    assert isinstance(chat, Chat)
    assert chat.reply(["do you like tea?", "yes, tea is good."], "we went to the garden.").candidates
