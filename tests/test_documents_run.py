"""The code blocks of README and docs run, in order, each page in its own empty folder, and print what the page shows.

In a `console` block a line that begins with `$` is a command, and the lines under it are what it prints, `...` standing
for anything: its stdout, or its stderr where it ends with an error. A `python` block is run, as a doctest where it has
prompts. `<!-- not run: the reason -->` above a block leaves it out.
"""

import contextlib
import doctest
import io
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from unmask.cli import main

PROJECT = Path(__file__).resolve().parents[1]
PAGES = [PROJECT / "README.md", PROJECT / "README.zh.md", *sorted((PROJECT / "docs").rglob("*.md"))]
RUN_ELSEWHERE = {PROJECT / "docs" / "path.md"}  # by test_path.py
BLOCK = re.compile(
    r"^(?:<!-- not run: (?P<reason>.+?) -->\n)?^```(?P<kind>console|python)\n(?P<body>.*?)^```$", re.M | re.S
)
COMMAND = re.compile(r"^\$ (?P<command>(?:\\\n|.)*)\n?(?P<shown>(?:(?!\$ ).*\n?)*)", re.M)
SHELL_SIGNS = set("|<>&;`\n") | {"$("}


@dataclass(frozen=True)
class Block:
    """A code block of a page that is to be run."""

    kind: str
    body: str
    line: int


def blocks_of(page: str) -> Iterator[Block]:
    """The blocks of a page that are run."""
    for found in BLOCK.finditer(page):
        if not found["reason"]:
            yield Block(found["kind"], found["body"], page[: found.start("body")].count("\n") + 1)


def run_console(block: Block, _: dict[str, Any]) -> None:
    for found in COMMAND.finditer(block.body):
        status, stdout, stderr = run_command(found["command"])
        printed = stderr if status else stdout
        assert status in (0, 2), f"{found['command']}\nstatus {status}\n{stderr}"
        assert_shown(found["shown"], printed, found["command"])


def run_command(command: str) -> tuple[int, str, str]:
    """Status, stdout and stderr; a plain `unmask …` runs in this process, where the engines are loaded already."""
    words = shlex.split(command)
    if words[0] != "unmask" or any(sign in command for sign in SHELL_SIGNS):
        path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
        run = subprocess.run(["bash", "-c", command], capture_output=True, text=True, env={"PATH": path})
        return run.returncode, run.stdout, run.stderr
    stdout, stderr = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(stderr):
        patch.setattr(sys, "argv", words)
        try:
            main()
            status = 0
        except SystemExit as end:
            status = int(end.code or 0)
    return status, stdout.getvalue(), stderr.getvalue()


def assert_shown(shown: str, printed: str, command: str) -> None:
    same = doctest.OutputChecker().check_output(shown, printed, doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert same, f"{command}\nshown:\n{shown}\nprinted:\n{printed}"


def run_python(block: Block, names: dict[str, Any]) -> None:
    if ">>>" not in block.body:
        exec(compile(block.body, f"line {block.line}", "exec"), names)
        return
    test = doctest.DocTestParser().get_doctest(block.body, names, "block", None, block.line)
    report: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=report.append, clear_globs=False)
    names.update(test.globs)
    assert not report, "".join(report)


def name_of(page: Path) -> str:
    return page.relative_to(PROJECT).as_posix()


RUN = {"console": run_console, "python": run_python}


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if page not in RUN_ELSEWHERE], ids=name_of)
def test_the_code_blocks_of_a_page_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": page.stem}
    for block in blocks_of(page.read_text(encoding="utf-8")):
        RUN[block.kind](block, names)


def test_a_command_and_what_it_prints_are_told_apart() -> None:
    found = [(f["command"], f["shown"]) for f in COMMAND.finditer("$ echo a \\\n  b\na b\n$ true\n$ echo c\nc\n")]
    assert found == [("echo a \\\n  b", "a b\n"), ("true", ""), ("echo c", "c\n")]


def test_a_block_with_a_reason_is_left_out() -> None:
    page = "<!-- not run: downloads -->\n```console\n$ fetch\n```\n\n```console\n$ true\n```\n\n```sh\nmake\n```\n"
    assert [block.body for block in blocks_of(page)] == ["$ true\n"]


def test_a_block_that_prints_something_else_is_noticed() -> None:
    with pytest.raises(AssertionError, match="printed"):
        run_console(Block("console", "$ echo left\nright\n", 1), {})


def test_a_command_that_breaks_is_noticed() -> None:
    with pytest.raises(AssertionError, match="status 1"):
        run_console(Block("console", "$ false\n", 1), {})


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_to_files_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:|#)([^)#\s]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), f"{page.relative_to(PROJECT)} links to {target}"
