"""What the tests of this folder share: logging as it was before."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _as_before(logging_restored: None) -> None:
    """Their processes live within the test, and set logging up as every process does."""
