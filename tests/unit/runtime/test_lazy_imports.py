"""Libraries that are left out of an import, and found again behind it; and what a service starts without."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys

import pytest

from strider.runtime.lazy_imports import hidden_modules

UNUSED = "colorsys"
"""A module of the standard library that nothing else here uses."""


@pytest.fixture(autouse=True)
def _unloaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, UNUSED, raising=False)


def test_a_library_that_is_left_out_seems_not_to_be_there_and_is_found_afterwards() -> None:
    with hidden_modules(UNUSED), pytest.raises(ImportError):
        importlib.import_module(UNUSED)

    assert importlib.import_module(UNUSED).__name__ == UNUSED


def test_one_that_is_loaded_already_stays() -> None:
    with hidden_modules("json"):
        assert importlib.import_module("json") is json


def test_it_is_found_again_when_the_import_fails() -> None:
    with pytest.raises(RuntimeError), hidden_modules(UNUSED):
        raise RuntimeError("a broken library")

    assert importlib.import_module(UNUSED).__name__ == UNUSED


@pytest.mark.parametrize(
    ("service", "needless"),
    [
        pytest.param("validator", ("aiohttp", "httpx", "rich", "pygments"), id="validator"),
        pytest.param("fetcher", ("aiohttp.web", "rich", "pygments"), id="fetcher"),
    ],
)
def test_a_service_loads_nothing_that_it_has_no_use_for(service: str, needless: tuple[str, ...]) -> None:
    """These were two fifths of what a start took of a core."""
    program = f"import sys, strider.{service}.__main__; print(*sys.modules)"

    loaded = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout

    assert set(needless).isdisjoint(loaded.split())
