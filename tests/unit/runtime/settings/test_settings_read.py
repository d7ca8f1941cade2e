"""Settings are read: each field of a settings class is used by the code of its service."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

from strider.runtime.settings.base import ServiceSettings
from strider.runtime.settings.help import settings_classes


def unread_fields(folder: Path, fields: set[str]) -> set[str]:
    """Find fields that no expression below a folder reads as an attribute."""
    read = {
        node.attr
        for path in folder.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute)
    }
    return fields - read


@pytest.mark.parametrize("settings", settings_classes(), ids=lambda known: known.__name__)
def test_each_setting_is_read(settings: type[ServiceSettings]) -> None:
    """A setting without a reader has no effect, whatever its sentence says."""
    own = set(settings.__annotations__) - {"PREFIX"}
    folder = Path(str(sys.modules[settings.__module__].__file__)).parent

    assert own
    assert unread_fields(folder, own) == set()


def test_a_field_without_a_reader_is_found(tmp_path: Path) -> None:
    (tmp_path / "settings.py").write_text("class Settings:\n    read: int = 0\n    unread: int = 0\n")
    (tmp_path / "wiring.py").write_text("print(settings.read)\n")

    assert unread_fields(tmp_path, {"read", "unread"}) == {"unread"}
