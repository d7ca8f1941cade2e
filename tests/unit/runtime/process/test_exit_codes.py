"""Exit codes: documented, for supervisors."""

from __future__ import annotations

from pathlib import Path

import pytest

from strider.runtime.process.exit_codes import EXIT_MEANINGS, ExitCode, exit_table

ROOT = Path(__file__).resolve().parents[4]


@pytest.mark.req("S2.1.14")
def test_the_numbers_are_fixed() -> None:
    """Supervisors, charts and alerts know them."""
    assert {code.name: code.value for code in ExitCode} == {
        "OK": 0,
        "FAILED": 1,
        "SETTINGS": 2,
        "STALLED": 3,
        "REFUSED": 4,
        "UNAVAILABLE": 5,
        "INTERRUPTED": 130,
        "TERMINATED": 143,
    }


def test_every_code_has_a_meaning() -> None:
    assert set(EXIT_MEANINGS) == set(ExitCode)


def test_the_documented_table_is_current() -> None:
    assert exit_table() in (ROOT / "docs/operations/processes.md").read_text(encoding="utf-8")
