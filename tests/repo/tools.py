"""The programs of tools/ as modules: the folder is no package, so that each of them runs as a script."""

from __future__ import annotations

import importlib.util
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

FOLDER = Path(__file__).parents[2] / "tools"


@cache
def load_tool(name: str) -> ModuleType:
    """Return a program of tools/, imported once."""
    spec = importlib.util.spec_from_file_location(f"strider_tool_{name}", FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module
