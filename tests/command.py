"""`unmask` run in the test's own process: arguments in, exit status and what was said out."""

import io
import json
from typing import Any

import pytest

from unmask import cli


def run(monkeypatch: pytest.MonkeyPatch, *arguments: object, said: bytes = b"") -> int:
    """The exit status; `said` is what stands on its standard input."""
    monkeypatch.setattr("sys.argv", ["unmask", *map(str, arguments)])
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(said)))
    with pytest.raises(SystemExit) as ended:
        cli.main()
    return int(ended.value.code or 0)


class Command:
    """Runs the command, or one of its verbs, and keeps what it said."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *verb: str) -> None:
        self.monkeypatch, self.capsys, self.verb = monkeypatch, capsys, verb

    def __call__(self, *arguments: object, said: bytes = b"") -> tuple[int, str, str]:
        """Exit status, standard output and standard error."""
        status = run(self.monkeypatch, *self.verb, *arguments, said=said)
        shown = self.capsys.readouterr()
        assert "Traceback" not in shown.err
        return status, shown.out, shown.err

    def json(self, *arguments: object) -> dict[str, Any]:
        """The object that it answers with."""
        status, out, err = self(*arguments, "--json")
        assert status == 0, err
        fields: dict[str, Any] = json.loads(out)
        return fields
