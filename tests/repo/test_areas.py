"""Where tests stand: each part of the system has its folder, and so have the tests that need servers."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests"
MEMBERS = [ROOT / "cli" / "pyproject.toml", *sorted(ROOT.glob("*/*/pyproject.toml"))]
SERVERS = frozenset({"database", "kafka_bootstrap", "migrated", "postgres", "redis_url", "stack"})
"""Fixtures that start a real server, or need one."""


def folders_that_need_servers(root: Path) -> set[str]:
    """Name the folders of tests, right below `tests/`, whose functions take such a fixture."""
    return {
        path.relative_to(root).parts[0]
        for path in root.rglob("test_*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name.startswith("test_")
        if SERVERS & {argument.arg for argument in node.args.args}
    }


@pytest.mark.req("S4.11.8")
@pytest.mark.parametrize("member", MEMBERS, ids=lambda path: path.parent.name)
def test_each_service_and_library_has_tests_in_a_folder_of_its_name(member: Path) -> None:
    """A change to one of them runs its tests, without a search for them."""
    name = member.parent.name.replace("-", "_")

    assert [path for path in TESTS.glob(f"*/{name}/**/test_*.py") if path.stat().st_size]


@pytest.mark.req("S1.16.2")
def test_tests_of_a_database_are_recognised_by_their_folder() -> None:
    """The folder is the tag: `make test-fast` runs what needs no server, and the others ask a real one."""
    found = folders_that_need_servers(TESTS)

    assert "integration" in found
    assert not found & {"unit", "repo"}


def test_a_test_of_a_database_in_the_wrong_folder_is_seen(tmp_path: Path) -> None:
    """A check that cannot fail checks nothing."""
    path = tmp_path / "unit" / "stores" / "test_rows.py"
    path.parent.mkdir(parents=True)
    path.write_text("async def test_a_row(postgres): ...\n", encoding="utf-8")

    assert folders_that_need_servers(tmp_path) == {"unit"}
