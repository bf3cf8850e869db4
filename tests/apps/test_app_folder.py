"""Folders of applications: kinds, versions, whole changes, readers beside writers."""

import json
import threading
from pathlib import Path

import pytest

from unmask.apps.app_folder import read_app, read_whole, same_encoder, write_app
from unmask.errors import InputError


def write(folder: Path, number: int, kind: str = "faq") -> None:
    with write_app(folder, kind, {"number": number}) as temporary:
        for name in ("a.txt", "z.txt"):  # one before and one behind unmask.json in the order of names
            (temporary / name).write_text(str(number))


def test_fields_and_files_come_back(tmp_path: Path) -> None:
    write(tmp_path / "app", 3)
    assert read_app(tmp_path / "app") == {"app": "faq", "version": 1, "number": 3}
    assert (tmp_path / "app" / "z.txt").read_text() == "3"


def test_a_model_folder_a_file_and_nothing_are_no_application(tmp_path: Path) -> None:
    (tmp_path / "unmask.json").write_text('{"format": 1}')
    assert read_app(tmp_path) is None
    assert read_app(tmp_path / "unmask.json") is None
    assert read_app("default") is None


def test_another_kind_is_refused_both_ways(tmp_path: Path) -> None:
    write(tmp_path / "app", 3)
    with pytest.raises(InputError, match="application 'faq'; wanted one of 'chat'"):
        read_app(tmp_path / "app", "chat")
    with pytest.raises(InputError, match="wanted one of 'chat'"):
        write(tmp_path / "app", 4, "chat")


def test_a_later_version_asks_for_an_update(tmp_path: Path) -> None:
    (tmp_path / "unmask.json").write_text(json.dumps({"app": "faq", "version": 2}))
    with pytest.raises(InputError, match="update unmask"):
        read_app(tmp_path)


def test_other_peoples_files_are_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(InputError, match="holds other things"):
        write(tmp_path, 1)


def test_a_failed_write_leaves_the_old_folder(tmp_path: Path) -> None:
    write(tmp_path / "app", 1)

    def fail() -> None:
        with write_app(tmp_path / "app", "faq", {}) as temporary:
            (temporary / "a.txt").write_text("2")
            raise InputError("a full disk")

    with pytest.raises(InputError, match="a full disk"):
        fail()
    assert (tmp_path / "app" / "a.txt").read_text() == "1"
    assert [path.name for path in tmp_path.iterdir()] == ["app"]


def test_another_encoder_is_noticed() -> None:
    fields = {"encoder": "default", "encoder_identity": "old"}
    with pytest.raises(InputError, match=r"my-faq, whose vectors .* 'default'.*build it again"):
        same_encoder(Path("my-faq"), fields, "new", do="build it again")


def test_a_reader_beside_a_writer_sees_one_version(tmp_path: Path) -> None:
    folder = tmp_path / "app"
    write(folder, 0)

    def write_all() -> None:
        for number in range(1, 40):
            write(folder, number)

    writer = threading.Thread(target=write_all)
    writer.start()

    def read(fields: dict[str, int]) -> set[str]:
        return {str(fields["number"]), (folder / "a.txt").read_text(), (folder / "z.txt").read_text()}

    while writer.is_alive():
        assert len(read_whole(folder, "faq", read)) == 1
    writer.join()
    assert read_whole(folder, "faq", read) == {"39"}


def test_damage_is_told_as_it_is(tmp_path: Path) -> None:
    write(tmp_path / "app", 1)

    def read(_: dict[str, int]) -> str:
        raise InputError("a torn page")

    with pytest.raises(InputError, match="a torn page"):
        read_whole(tmp_path / "app", "faq", read)
