"""Whatever is stored, or kept in memory by key, names what limits it in docs/growth.yaml."""

from __future__ import annotations

import pytest

from tests.repo.rules.sources import load_tool

growth = load_tool("growth")

pytestmark = pytest.mark.fault("B5", part="a row for everything that is stored")

ROWS = growth.Growth({"topics": {"a": ("one", "Kafka")}, "tables": {"b": ("two", "`x/y.py`")}})
EXISTING = {"topics": {"a"}, "tables": {"b"}}


def test_everything_that_can_grow_has_a_row() -> None:
    assert growth.faults(growth.read_rows(), growth.found()) == []


def test_rows_name_files_and_settings_that_exist() -> None:
    assert growth.unknown_names(growth.read_rows()) == []


@pytest.mark.parametrize("kind", ["topics", "redis", "tables", "folders", "caches"])
def test_it_rejects_what_is_new_and_has_no_row(kind: str) -> None:
    existing = growth.found()
    existing[kind] |= {"new"}

    assert growth.faults(growth.read_rows(), existing) == [
        f"{kind}: new has no limit: add a row to docs/growth.yaml"
    ]


def test_it_rejects_a_row_of_what_is_gone() -> None:
    assert growth.faults(ROWS, EXISTING | {"tables": set()}) == [
        "tables: b does not exist: remove its row from docs/growth.yaml"
    ]


def test_it_rejects_a_row_that_names_what_does_not_exist() -> None:
    wrong = growth.Growth({"tables": {"b": ("`NO_SUCH_SETTING`", "`x/y.py`")}})

    assert growth.unknown_names(wrong) == ["NO_SUCH_SETTING", "x/y.py"]


def test_it_finds_what_objects_keep() -> None:
    source = """
class Cache:
    def __init__(self):
        self._by_run: dict[str, int] = {}
        self._names = set()
        self.size: int = 0

    def look(self):
        local: dict[str, int] = {}
"""

    assert list(growth.caches_in(source)) == ["Cache._by_run", "Cache._names"]


def test_it_finds_tables_topics_and_keys() -> None:
    existing = growth.found()

    assert {"crawled_pages", "url_decisions"} <= existing["tables"]
    assert {"frontier", "job-commands"} <= existing["topics"]
    assert {"shard/entries", "run/log"} <= existing["redis"]
    assert {"data", "logs", "run"} <= existing["folders"]
