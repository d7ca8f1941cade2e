"""Restores logging after each test."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _as_before(logging_restored: None) -> None:
    """Services run within the test process and configure logging as every process does."""
