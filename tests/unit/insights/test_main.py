"""The service where Faust is not installed."""

from __future__ import annotations

import sys

import pytest

import strider.insights
from strider.insights.__main__ import build, main
from strider.messaging.errors import StartRefused


@pytest.fixture
def no_faust(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "faust", None)
    for name in [name for name in sys.modules if name.startswith("strider.insights.adapters")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr(strider.insights, "adapters", raising=False)


@pytest.mark.usefixtures("no_faust")
def test_without_faust_the_start_is_refused():
    """Faust is optional: neither a retry nor a traceback would help."""
    nothing = object()

    with pytest.raises(StartRefused, match="faust-streaming"):
        build(nothing)  # type: ignore[arg-type]  # it is not looked at


@pytest.mark.usefixtures("no_faust")
def test_without_faust_the_settings_are_still_shown(capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["insights", "--help"])

    assert main() == 0
    assert "INSIGHTS_KEEP_HOURS" in capsys.readouterr().out
