"""docs/requirements.md says what the tests' marks say, and a mark cannot name what does not exist."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[2]


def _tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("requirements_tool", ROOT / "tools" / "requirements.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_current() -> None:
    assert (ROOT / "docs" / "requirements.md").read_text(encoding="utf-8") == _tool().render()


def test_all_acceptance_lines_are_listed() -> None:
    """621 lines stand in the design; losing one would make the page lie by silence."""
    assert len(_tool().wording()) == 621


def test_a_mark_that_names_nothing_is_refused() -> None:
    assert _tool().unknown({"S9.9.9": ["tests/x.py::test_y"]}, {"S1.1.1": ("text", "owner")}) == [
        "tests/x.py::test_y marks S9.9.9, which is no acceptance line"
    ]


def test_a_line_without_a_mark_is_open(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_x.py").write_text(
        "import pytest\n\n@pytest.mark.req('S1.1.1')\ndef test_a(): ...\n"
    )
    tool = _tool()
    page = tool.page({"S1.1.1": ("one", "lib"), "S1.1.2": ("two", "lib")}, tool.marks(tmp_path / "tests"))

    assert "| S1.1.1 | one | lib | shown by `tests/test_x.py::test_a` |" in page
    assert "| S1.1.2 | two | lib | open |" in page
