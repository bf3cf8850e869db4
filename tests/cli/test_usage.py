"""Words of a command that it cannot use: one line, status 2."""

import pytest
from command import Command

from unmask import __version__, cli

WRONG = {
    "a number that is too low": ("fill", "the [MASK]", "--top", "0"),
    "no number": ("fill", "the [MASK]", "--top", "many"),
    "a flag that there is not": ("fill", "the [MASK]", "--tops", "3"),
    "a verb that there is not": ("full", "the [MASK]"),
    "a word too few": ("next", "the cat"),
    "a share above one": ("finetune", "classify", "--train", "a.csv", "-o", "out", "--warmup", "3"),
    "one of no choices": ("features", "the cat", "--pooling", "sum"),
}


@pytest.mark.parametrize("words", WRONG.values(), ids=WRONG)
def test_a_misused_verb_is_one_line_and_status_2(unmask: Command, words: tuple[str, ...]) -> None:
    status, out, err = unmask(*words)
    assert (status, out) == (2, "")
    assert err.startswith("unmask: ")
    assert err.endswith(" --help\n")
    assert err.count("\n") == 1


def test_a_command_alone_shows_its_help(unmask: Command) -> None:
    status, out, err = unmask()
    assert "pretrain" in out + err
    assert status == 2


def test_the_version_is_the_packages(unmask: Command) -> None:
    assert unmask("--version") == (0, f"unmask {__version__}\n", "")


def test_help_ends_well(unmask: Command) -> None:
    status, out, err = unmask("fill", "--help")
    assert (status, err) == (0, "")
    assert "--top" in out


@pytest.mark.parametrize("verb", ["fill", "features", "predict", "search", "serve", "faq build", "chat talk"])
def test_the_usage_repeats_no_dots_or_brackets(unmask: Command, verb: str) -> None:
    _, out, _ = unmask(*verb.split(), "--help")
    usage = next(line for line in out.splitlines() if "Usage:" in line)
    assert not any(twice in usage for twice in ("[[", "]]", "...}", "...]"))


def test_an_interrupted_verb_says_so(unmask: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setitem(cli.VERBS, "fill", interrupted)
    assert unmask("fill") == (130, "", "unmask: interrupted\n")
