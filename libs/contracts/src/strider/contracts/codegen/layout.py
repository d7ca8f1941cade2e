"""How generated Python is laid out: one form for each thing, so that the same input gives the same text."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from typing import Final

WIDTH: Final = 110

NOTICE: Final = "Generated from `schemas/` by `python -m strider.contracts.codegen`; do not edit."


def docstring(text: str, indent: str = "") -> list[str]:
    """Lay out a docstring, wrapped; a backslash in it stays what it is."""
    safe = text.replace("\\", "\\\\").replace('"""', "'''")
    lines = textwrap.wrap(
        f'"""{safe}', WIDTH - 3, initial_indent=indent, subsequent_indent=indent, break_long_words=False
    )
    lines[-1] += '"""'
    return lines


def module(doc: str, body: Iterable[str]) -> str:
    """Lay out a file: what it is, the notice, the body."""
    wrapped = textwrap.wrap(NOTICE, WIDTH)
    return "\n".join([f'"""{doc}', "", *wrapped, '"""', "", *body]).rstrip("\n") + "\n"


def text(value: str) -> str:
    """Write a text as Python does with double quotes."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def texts(values: Iterable[str]) -> str:
    """Write a tuple of texts."""
    parts = [text(value) for value in values]
    return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"
