"""Environment of the crawls: a contact, and a folder for the temporary files of killed ones."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def contact(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without it nothing but loopback is crawled."""
    monkeypatch.setenv("STRIDER_CONTACT", "https://example.org/bot")


@pytest.fixture(autouse=True)
def scratch(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Kill -9 leaves the bodies of a crawl behind, which nothing would delete."""
    monkeypatch.setenv("TMPDIR", str(tmp_path_factory.mktemp("scratch")))
