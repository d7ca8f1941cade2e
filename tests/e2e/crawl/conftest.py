"""What every crawl here is given: whom sites may write to, and a place for what a killed one leaves."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def contact(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without it nothing but loopback is crawled."""
    monkeypatch.setenv("STRIDER_CONTACT", "https://example.org/bot")


@pytest.fixture(autouse=True)
def scratch(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Kill -9 leaves a crawl's bodies where it had them, and nobody would ever clear them away."""
    monkeypatch.setenv("TMPDIR", str(tmp_path_factory.mktemp("scratch")))
