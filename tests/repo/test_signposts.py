"""Sections "Where is ...?" lead to files and symbols that exist; each rule has a page that it must reject."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from .rules.signposts import rows_without_a_symbol, sections, wrong_signposts

ROOT = Path(__file__).parents[2]
HEAD = "## Where is … enforced?\n\n| rule | decided in | enforced in |\n|---|---|---|\n"
MODULE = '''"""Waits."""
from os import sep

LIMIT = 3
MOST: int = 4


class Policy:
    """A policy."""

    def wait(self) -> None:
        """Wait."""


def decide() -> None:
    """Decide."""
    local = LIMIT
'''
SCRIPT = "local function lease(g)\n  -- function hidden(g)\nend\n"


def write_files(folder: Path, files: Mapping[str, str]) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")
    return folder


def repository(folder: Path, cell: str, *, page: str = "ARCHITECTURE.md", head: str = HEAD) -> Path:
    return write_files(
        folder,
        {
            page: f"# Page\n\n{head}| a rule | {cell} | the same |\n\n## More\n\n`gone.py` (`gone`)\n",
            "services/one/src/strider/one/core/wait.py": MODULE,
            "services/two/src/strider/two/core/wait.py": "",
            "libs/frontier/src/strider/frontier/redis/lua/script.lua": SCRIPT,
        },
    )


def test_each_signpost_leads_to_a_definition() -> None:
    assert wrong_signposts(ROOT) == []


def test_each_rule_of_the_architecture_names_files_and_symbols() -> None:
    assert rows_without_a_symbol(ROOT) == []


def test_every_member_and_the_architecture_have_signposts() -> None:
    """The search finds the sections; otherwise the tests above would hold nothing."""
    members = [project.parent / "README.md" for project in ROOT.glob("*/*/pyproject.toml")]

    expected = {ROOT / "ARCHITECTURE.md", ROOT / "cli/README.md", *members}
    assert {page for page, _ in sections(ROOT)} >= expected


@pytest.mark.parametrize(
    "cell",
    [
        "`one/core/wait.py` (`decide`; `Policy.wait`, `wait()`), waits: `one/core/wait.py` (`LIMIT`, `MOST`)",
        "[`core/wait.py`](services/one/src/strider/one/core/wait.py) (`decide`)",
        "`script.lua` (`lease`: the words beside it)",
    ],
)
def test_a_right_signpost_is_accepted(tmp_path: Path, cell: str) -> None:
    root = repository(tmp_path, cell)

    assert (wrong_signposts(root), rows_without_a_symbol(root)) == ([], [])


@pytest.mark.parametrize(
    ("cell", "problem"),
    [
        ("`one/core/gone.py` (`decide`)", "one/core/gone.py: no such file"),
        ("`core/wait.py` (`decide`)", "core/wait.py: no such file"),
        (
            "[`one/core/wait.py`](services/two/src/strider/two/core/wait.py) (`decide`)",
            "one/core/wait.py: no such file",
        ),
        ("`gone.lua` (`lease`)", "gone.lua: no such file"),
        ("`one/core/wait.py` (`refuse`)", "one/core/wait.py does not define refuse"),
        ("`one/core/wait.py` (`Policy.decide`)", "one/core/wait.py does not define Policy.decide"),
        ("`one/core/wait.py` (`sep`)", "one/core/wait.py does not define sep"),
        ("`one/core/wait.py` (`local`)", "one/core/wait.py does not define local"),
        ("`two/core/wait.py` (`decide`)", "two/core/wait.py does not define decide"),
        ("`script.lua` (`hidden`)", "script.lua does not define hidden"),
    ],
)
def test_a_wrong_signpost_is_found(tmp_path: Path, cell: str, problem: str) -> None:
    assert wrong_signposts(repository(tmp_path, cell)) == [f"ARCHITECTURE.md: {problem}"]


@pytest.mark.parametrize(
    ("cell", "problem"),
    [
        ("the scheduler decides", "a rule: names no file"),
        ("`one/core/wait.py`", "a rule: one/core/wait.py without a symbol"),
        ("`one/core/wait.py` (by the policy)", "a rule: one/core/wait.py without a symbol"),
    ],
)
def test_a_rule_without_a_symbol_is_found(tmp_path: Path, cell: str, problem: str) -> None:
    assert rows_without_a_symbol(repository(tmp_path, cell)) == [problem]


def test_the_page_of_a_member_names_files_of_its_package(tmp_path: Path) -> None:
    """`core/wait.py` is that of the member, whatever other members have."""
    cell = "`core/wait.py` (`decide`), but `core/gone.py`"
    root = repository(tmp_path, cell, page="services/one/README.md", head="## Where is …?\n\n")

    assert wrong_signposts(root) == ["services/one/README.md: core/gone.py: no such file"]


@pytest.mark.parametrize("head", ["**Where is ...?**\n\n", "## Where is ...?\n\n", "### Where is …?\n\n"])
def test_another_spelling_is_no_section(tmp_path: Path, head: str) -> None:
    """Every member must have the section, so another spelling of it is found as a missing one."""
    root = repository(tmp_path, "`core/wait.py`", page="services/one/README.md", head=head)

    assert list(sections(root)) == []


def test_a_script_of_two_folders_is_ambiguous(tmp_path: Path) -> None:
    write_files(tmp_path, {"libs/other/src/strider/other/script.lua": SCRIPT})
    root = repository(tmp_path, "`script.lua` (`lease`)")

    assert wrong_signposts(root) == ["ARCHITECTURE.md: script.lua: stands for several files"]
