"""Lua files: each says what it takes."""

from __future__ import annotations

from hashlib import sha1
from importlib.resources import files

import pytest

from strider.storage.lua_files import load_script, parse_script


def test_every_script_that_ships_has_its_header() -> None:
    """A reviewer reads keys and arguments before the code."""
    names = [file.name for file in files("strider.storage.lua").iterdir() if file.name.endswith(".lua")]

    assert "run_log_append.lua" in names
    for name in names:
        script = load_script(name.removesuffix(".lua"))
        assert script.sha == sha1(script.text.encode()).hexdigest()


def test_a_script_without_header_is_refused() -> None:
    """The message says what is missing."""
    with pytest.raises(ValueError, match=r"x\.lua: the header has no arguments, result"):
        parse_script("x", "-- keys: none\nreturn 1\n")


def test_only_the_header_counts() -> None:
    """A word within the code is no description."""
    with pytest.raises(ValueError, match="keys"):
        parse_script("x", "-- arguments: a\n-- result: b\nlocal text = [[\n--- keys: c\n]]\n")
