"""Whole pages with all their fields: refreshed with UPDATE_GOLDEN=1 and reviewed as a diff."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from strider.contracts.generated.events import PageParsed

from .pages import read

CASES = sorted((Path(__file__).parents[2] / "golden" / "pages").iterdir())
DEFAULTS = read("x").to_record()
COST = {"parse_us", "body_bytes", "url_key"}


def set_fields(page: PageParsed) -> dict[str, Any]:
    """Return the fields that differ from their default."""
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in page.to_record().items()
        if name not in COST and value != DEFAULTS[name]
    }


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_page_results_in_its_golden_event(case: Path) -> None:
    page = read(
        (case / "input.html").read_bytes(), url=(case / "url.txt").read_text().strip(), content_type=""
    )
    expected = case / "expected.json"
    if os.environ.get("UPDATE_GOLDEN"):
        expected.write_text(json.dumps(set_fields(page), ensure_ascii=False, indent=2) + "\n")

    assert set_fields(page) == json.loads(expected.read_text())


def test_there_are_golden_pages() -> None:
    """A folder that was moved must not make the test pass."""
    assert len(CASES) >= 4
