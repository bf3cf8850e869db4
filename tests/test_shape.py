"""The shape of the project: imports run one way, the public door is exact, file maps are whole, starting is light."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from graphlib import TopologicalSorter
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import unmask

PROJECT = Path(__file__).resolve().parents[1]
PACKAGE = PROJECT / "unmask"
ROOMS = [
    *("text", "data", "decode", "model", "training", "tasks", "runtime"),
    *("compress", "explain", "lab", "retrieve", "apps", "serve", "cli"),
]
FOR_ALL = {"unmask.errors", "unmask.files"}
MACHINE_PATH = re.compile(r"(?<![\w.~-])/(?:work|tmp|home|root|Users)/\w")
MODULES = {
    ".".join(path.relative_to(PROJECT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(PACKAGE.rglob("*.py"))
}


def imports_of(path: Path) -> Iterator[str]:
    """The modules of the package that a file imports, inside functions too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import hides where it goes"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            if name.startswith("unmask") and name != "unmask.__version__":
                yield name if name in MODULES else name.rpartition(".")[0]


def room_of(module: str) -> str | None:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[1] in ROOMS else None


def committed_files() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=PROJECT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a git checkout")
    return [path for name in listed.stdout.split("\0") if name and (path := PROJECT / name).is_file()]


def loaded_by(code: str) -> set[str]:
    """The names of the modules that a fresh Python has loaded when it has run some code."""
    report = "import atexit, sys; atexit.register(lambda: print(*sys.modules, file=sys.stderr))"
    run = subprocess.run([sys.executable, "-c", f"{report}\n{code}"], capture_output=True, text=True, check=True)
    return set(run.stderr.split())


def test_every_folder_of_the_package_is_a_known_room() -> None:
    assert {path.parent.name for path in PACKAGE.glob("*/__init__.py")} <= set(ROOMS)


@pytest.mark.parametrize("module", [name for name in MODULES if room_of(name)])
def test_a_room_imports_only_earlier_rooms(module: str) -> None:
    place = ROOMS.index(room_of(module) or "")
    for imported in set(imports_of(MODULES[module])) - FOR_ALL:
        room = room_of(imported)
        assert room is not None, f"{module} imports {imported}"
        assert ROOMS.index(room) <= place, f"{module} imports {imported}, a later room"


def test_no_import_goes_in_a_circle() -> None:
    inner = {name: set(imports_of(path)) - {name} for name, path in MODULES.items() if name != "unmask"}
    TopologicalSorter(inner).prepare()


def test_the_public_names_are_exactly_those_of_the_door() -> None:
    assert unmask.__all__ == sorted([*unmask.MODULES, "__version__"])
    assert dir(unmask) == unmask.__all__
    tree = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    typed = {
        alias.name: node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    assert {name: typed[name] for name in unmask.MODULES} == unmask.MODULES


@pytest.mark.parametrize("name", unmask.__all__)
def test_a_public_name_can_be_had(name: str) -> None:
    assert getattr(unmask, name)


def test_an_unknown_public_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'bert'"):
        unmask.bert  # noqa: B018


STARTS = {
    "import": "import unmask",
    "help": "import runpy; sys.argv = ['unmask', '--help']; runpy.run_module('unmask', run_name='__main__')",
}


@pytest.mark.parametrize("code", STARTS.values(), ids=STARTS)
def test_starting_loads_no_engine(code: str) -> None:
    assert not {"torch", "onnxruntime", "pyarrow", "tokenizers", "numpy", "sklearn"} & loaded_by(code)


def test_a_few_answers_do_not_wait_for_what_writes_graphs() -> None:
    assert "onnx" not in loaded_by("import unmask.compress.model_engine, unmask.apps.learning")


@pytest.mark.parametrize("readme", ["README.md", "README.zh.md"])
def test_the_file_map_names_every_file_of_the_package_and_no_other(readme: str) -> None:
    page = (PROJECT / readme).read_text(encoding="utf-8")
    found = re.search(r"<!-- file map -->\n```text\n(.*?)```", page, re.DOTALL)
    assert found, f"{readme} has no file map"
    room, named = "", []
    for line in found[1].splitlines()[1:]:
        indent, name = len(line) - len(line.lstrip()), line.split()[0]
        room = name if name.endswith("/") else room if indent == 4 else ""
        named.append(room if name.endswith("/") else room + name)
    files = [path.relative_to(PACKAGE).as_posix() for path in MODULES.values()]
    assert sorted(named) == sorted(name.removesuffix("__init__.py") if "/" in name else name for name in files)


def test_every_room_says_what_it_is_in_its_first_file() -> None:
    for module, path in MODULES.items():
        assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))), f"{module} has no docstring"


def test_no_file_is_a_room_where_order_ends() -> None:
    names = {path.stem for path in committed_files()}
    assert not names & {"utils", "util", "helpers", "helper", "common", "base", "misc"}


def test_no_committed_file_names_a_place_on_somebodys_machine() -> None:
    for path in committed_files():
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        assert not MACHINE_PATH.search(text), f"{path.relative_to(PROJECT)}: {MACHINE_PATH.search(text)}"


def test_what_is_embedded_stays_small() -> None:
    embedded = [path for path in committed_files() if path.is_relative_to(PACKAGE) and path.suffix != ".py"]
    assert sum(path.stat().st_size for path in embedded) < 40_000_000


def test_the_lock_pins_every_requirement_and_torch_exactly() -> None:
    lines = (PROJECT / "requirements.lock").read_text().splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", pin) for pin in pins)
    assert "torch==2.13.0" in pins


def test_the_lock_satisfies_the_package_and_all_its_extras() -> None:
    lines = (PROJECT / "requirements.lock").read_text().splitlines()
    pinned = {canonicalize_name(name): version for name, _, version in (line.partition("==") for line in lines)}
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for requirement in map(Requirement, chain(project["dependencies"], *project["optional-dependencies"].values())):
        assert requirement.specifier.contains(pinned[canonicalize_name(requirement.name)]), requirement
