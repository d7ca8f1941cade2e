"""Whom sites may write to: without it nothing but loopback is crawled."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def contact(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRIDER_CONTACT", "https://example.org/bot")
