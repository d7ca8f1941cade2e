"""`strider proxies`: wrong usage that is refused before any proxy is contacted."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from strider.cli.commands.proxies import app


def test_a_forbidden_address_is_no_failure_of_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reported as a failure of the proxy, it would be searched there."""
    monkeypatch.setenv("CRAWLER_PROXY_URLS", "http://me:my-word@127.0.0.1:9")
    monkeypatch.setenv("STRIDER_CONTACT", "bot@example.org")
    monkeypatch.delenv("STRIDER_ALLOW_PRIVATE", raising=False)

    found = CliRunner().invoke(app, ["test", "http://10.0.0.1/a"])

    assert (found.exit_code, found.stdout) == (2, "")
    assert "http://10.0.0.1/a may not be fetched: 10.0.0.1 is a private address" in found.stderr
    assert "my-word" not in found.stderr
