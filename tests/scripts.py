"""Scripts of benchmarks/ and recipes/ as modules: they are no part of the package, and are tested all the same."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

PROJECT = Path(__file__).resolve().parents[1]


def load_script(path: str) -> ModuleType:
    """The module of a script, by its path from the project's root."""
    name = "script_" + Path(path).stem
    spec = importlib.util.spec_from_file_location(name, PROJECT / path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)  # dataclasses look there
    spec.loader.exec_module(module)
    return module
