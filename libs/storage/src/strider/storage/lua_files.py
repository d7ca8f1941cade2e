"""Lua scripts as files with a checked header of keys, arguments and result.

A file without such a header is refused when it is loaded. A script runs by itself, or is a function of a
library, which the server reads once: a long script is then not compiled by each call.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import sha1
from importlib.resources import files
from typing import Final

HEADER_FIELDS: Final = ("keys", "arguments", "result")

_FIELD: Final = re.compile(r"^-- (keys|arguments|result): *(\S.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class LuaScript:
    """One script, known to the server by its hash, or by its name as a function."""

    name: str
    text: str
    """Text that the server must load before a call: for a function, its whole library."""
    sha: str
    is_function: bool = False


def load_script(name: str, package: str = "strider.storage.lua") -> LuaScript:
    """Read `<name>.lua` from a package's folder."""
    text = files(package).joinpath(f"{name}.lua").read_text(encoding="utf-8")
    return parse_script(name, text)


def parse_script(name: str, text: str) -> LuaScript:
    """Check the header and compute the hash by which the server will know the script."""
    header = "".join(line for line in text.splitlines(keepends=True) if line.startswith("--"))
    described = {match[1] for match in _FIELD.finditer(header)}
    if missing := [field for field in HEADER_FIELDS if field not in described]:
        raise ValueError(f"{name}.lua: the header has no {', '.join(missing)}")
    # SHA-1 is how the protocol names scripts; it protects nothing.
    return LuaScript(name, text, sha1(text.encode(), usedforsecurity=False).hexdigest())
