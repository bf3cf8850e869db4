"""Models by name: which one is asked, and that a replaced folder is taken up without anyone noticing."""

import asyncio
import shutil
from pathlib import Path
from typing import Any

import pytest
from small_models import small_model

from unmask.apps.refusing import Refused
from unmask.errors import InputError
from unmask.model.folder import save_model
from unmask.serve.application import open_application
from unmask.serve.models import Models, UnknownModel, folders_of, identity_of
from unmask.serve.questions import Application, Question, ToFill

from .made_clock import run


def fake(folder: Path) -> Application:
    """Says what its folder says; a folder that says nothing cannot be opened."""
    said = (folder / "said.txt").read_text()
    if not said:
        raise InputError("an empty folder")
    return Application("none", {"fill": lambda examples: [said] * len(examples)})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "said.txt").write_text("old")
    return tmp_path / "one"


def test_folders_go_by_their_names_or_by_names_of_ones_own(tmp_path: Path) -> None:
    assert folders_of([str(tmp_path / "a"), f"b={tmp_path}/a"]) == {"a": tmp_path / "a", "b": tmp_path / "a"}
    with pytest.raises(InputError, match="two models named 'a'"):
        folders_of([str(tmp_path / "a"), str(tmp_path / "x" / "a")])


def test_a_folder_with_an_equals_sign_is_still_a_folder(tmp_path: Path) -> None:
    (tmp_path / "lr=3").mkdir()
    assert [*folders_of([str(tmp_path / "lr=3")])] == ["lr=3"]


def test_a_model_is_found_by_name_and_ask(folder: Path) -> None:
    models = Models({"one": folder}, open=fake)
    models.open()
    assert models.find(None, "fill") is models.find("one", "fill")
    with pytest.raises(UnknownModel, match="'two'; wanted one"):
        models.find("two", "fill")
    with pytest.raises(UnknownModel, match="no model for 'tag'"):
        models.find(None, "tag")
    with pytest.raises(InputError, match="'tag' of the model 'one'"):
        models.find("one", "tag")


async def until(true: Any) -> None:
    for _ in range(2000):
        if true():
            return
        await asyncio.sleep(0.005)
    raise AssertionError("it never came true")


def watched(models: Models, work: Any) -> Any:
    """Runs some work in real time while the folders are looked at."""

    async def both() -> Any:
        watching = asyncio.create_task(models.watch(every=0.01))
        try:
            return await work()
        finally:
            watching.cancel()
            await models.close()

    models.open()
    return asyncio.run(both())


async def ask(models: Models) -> Any:
    return (await models.find(None, "fill").batcher.submit([Question("fill", None)]))[0]


def test_a_replaced_folder_is_taken_up_and_no_request_is_dropped(folder: Path) -> None:
    told: list[str] = []
    models = Models({"one": folder}, open=fake, tell=lambda event, **_: told.append(event))
    said: list[str] = []

    async def client() -> None:
        while len(set(said)) < 2:
            said.append(await ask(models))

    async def work() -> None:
        clients = [asyncio.create_task(client()) for _ in range(8)]
        await until(lambda: len(said) > 50)
        (folder / "said.txt").write_text("brand new")
        await asyncio.gather(*clients)

    watched(models, work)
    assert set(said) == {"old", "brand new"}
    assert said == sorted(said, key=["old", "brand new"].index)
    assert told == ["reloaded"]


def test_a_folder_that_cannot_be_opened_changes_nothing_and_is_told_once(folder: Path) -> None:
    told: list[dict[str, Any]] = []
    models = Models({"one": folder}, open=fake, tell=lambda event, **fields: told.append({"event": event, **fields}))

    async def work() -> tuple[Any, Any]:
        (folder / "said.txt").write_text("")
        await until(lambda: told)
        await asyncio.sleep(0.1)
        during = await ask(models)
        (folder / "said.txt").write_text("mended")
        await until(lambda: len(told) > 1)
        return during, await ask(models)

    assert watched(models, work) == ("old", "mended")
    assert told[0] == {"event": "reload refused", "model": "one", "error": "got an empty folder"}
    assert [line["event"] for line in told] == ["reload refused", "reloaded"]


def test_a_folder_that_is_gone_for_a_while_goes_on_answering(folder: Path) -> None:
    models = Models({"one": folder}, open=fake)

    async def work() -> tuple[Any, Any]:
        shutil.rmtree(folder)
        await asyncio.sleep(0.1)
        during = await ask(models)
        folder.mkdir()
        (folder / "said.txt").write_text("back")
        await until(lambda: models.find(None, "fill").identity == identity_of(folder))
        return during, await ask(models)

    assert watched(models, work) == ("old", "back")


def test_files_that_still_arrive_are_waited_for(folder: Path) -> None:
    opened: list[str] = []

    def watch_opening(folder: Path) -> Application:
        opened.append((folder / "said.txt").read_text())
        return fake(folder)

    async def work() -> None:
        watching = asyncio.create_task(models.watch(every=1.0))
        for part in range(1, 6):  # a little more at every look
            await asyncio.sleep(1.0)
            (folder / "said.txt").write_text("x" * part)
        await asyncio.sleep(0.5)
        assert opened == ["old"]
        watching.cancel()
        await models.close()

    models = Models({"one": folder}, open=watch_opening)
    models.open()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(asyncio, "to_thread", here)  # made time does not wait for threads
        run(work())


async def here(function: Any, *given: Any) -> Any:
    return function(*given)


def test_a_card_that_people_edit_is_no_new_model(folder: Path) -> None:
    before = identity_of(folder)
    (folder / "README.md").write_text("mine")
    assert identity_of(folder) == before


@pytest.mark.parametrize(
    ("head", "asks"),
    [
        ("pretraining", ("fill", "embeddings")),
        ("masked_words", ("fill", "embeddings")),
        (None, ("embeddings",)),
        ("embedding", ("embeddings",)),
        ("classes", ("classify",)),
        ("regression", ("classify",)),
        ("tokens", ("tag",)),
        ("tags_crf", ("tag",)),
        ("span", ("answer",)),
    ],
)
def test_the_head_says_what_can_be_asked(tmp_path: Path, head: str | None, asks: tuple[str, ...]) -> None:
    opened = small_model(head)
    save_model(tmp_path / "model", opened.config, opened.model, opened.tokenizer, opened.about)
    assert tuple(open_application(tmp_path / "model").asks) == (*asks, "explain")


def test_a_model_that_nobody_can_ask_is_refused_at_the_start(tmp_path: Path) -> None:
    opened = small_model("choice")
    save_model(tmp_path / "model", opened.config, opened.model, opened.tokenizer, opened.about)
    with pytest.raises(InputError, match="'choose'; wanted one for classify"):
        open_application(tmp_path / "model")


def test_texts_without_a_mask_cost_no_second_try(tmp_path: Path) -> None:
    opened = small_model("pretraining")
    save_model(tmp_path / "model", opened.config, opened.model, opened.tokenizer, opened.about)
    application = open_application(tmp_path / "model")
    texts = ["nothing", "the [MASK]", ""] * 700
    answers = application([Question("fill", ToFill(text)) for text in texts])
    assert [isinstance(answer, Refused) for answer in answers] == ["[MASK]" not in text for text in texts]
