"""What does an object say that is written in code, not as JSON: bare names, single quotes, computed values?

Reads one object from where it begins. What has to be run to be known is unknown; nothing is run. Time grows
with the number of characters, which is bounded, and so is depth.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

MAX_CHARS: Final = 20_000
MAX_DEPTH: Final = 12

_PIECE: Final = re.compile(
    r"\s+|//[^\n]*|/\*(?>[^*]|\*(?!/))*\*/"
    r'|(?P<piece>"(?>[^"\\]|\\.)*"|\'(?>[^\'\\]|\\.)*\'|`(?>[^`\\]|\\.)*`|[{}\[\](),:"\'`]|[^\s{}\[\](),:"\'`]+)',
    re.DOTALL,
)
_NUMBER: Final = re.compile(r"-?\d{1,30}(?:\.\d{1,30})?")
"""A longer one counts nothing, and Python refuses to read it."""

_QUOTES: Final = frozenset("\"'`")
_WORDS: Final = {"true": True, "false": False}
_CLOSING: Final = {"{": "}", "[": "]", "(": ")"}


class _InvalidLiteralError(Exception):
    """The text is no object, or breaks off."""


def parse_object(text: str, start: int) -> dict[str, Any] | None:
    """Read the object that begins here; None where there is none."""
    pieces = _pieces(text, start)
    try:
        value, _ = _value(next(pieces, ""), pieces, 0)
    except _InvalidLiteralError:
        return None
    return value if isinstance(value, dict) else None


def _pieces(text: str, begin: int) -> Iterator[str]:
    for match in _PIECE.finditer(text, begin, begin + MAX_CHARS):
        if (piece := match["piece"]) in _QUOTES:
            return  # a string without an end: to go on behind it would look for its end again and again
        if piece:
            yield piece


def _next(pieces: Iterator[str]) -> str:
    piece = next(pieces, "")
    if not piece:
        raise _InvalidLiteralError
    return piece


def _value(piece: str, pieces: Iterator[str], depth: int) -> tuple[Any, str]:
    """Read a value; gives also the piece behind it."""
    if depth > MAX_DEPTH:
        raise _InvalidLiteralError
    if piece == "{":
        return _members(pieces, depth), next(pieces, "")
    if piece == "[":
        return _elements(pieces, depth), next(pieces, "")
    behind = next(pieces, "")
    if behind in {",", "}", "]"}:
        return _parse_scalar(piece), behind
    while behind not in {",", "}", "]", ""}:  # what is computed
        behind = _skip_brackets(behind, pieces) if behind in _CLOSING else next(pieces, "")
    return None, behind


def _skip_brackets(opening: str, pieces: Iterator[str]) -> str:
    """Pass over what stands in brackets; gives the piece behind."""
    open_ones = [_CLOSING[opening]]
    while open_ones:
        piece = _next(pieces)
        if piece in _CLOSING:
            open_ones.append(_CLOSING[piece])
        elif piece == open_ones[-1]:
            open_ones.pop()
    return next(pieces, "")


def _members(pieces: Iterator[str], depth: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    piece = _next(pieces)
    while piece != "}":
        if piece == ",":
            piece = _next(pieces)
            continue
        name = _parse_scalar(piece)
        if _next(pieces) != ":":
            raise _InvalidLiteralError
        value, piece = _value(_next(pieces), pieces, depth + 1)
        if piece not in {",", "}"}:
            raise _InvalidLiteralError
        found[str(name if name is not None else piece)] = value
    return found


def _elements(pieces: Iterator[str], depth: int) -> list[Any]:
    found: list[Any] = []
    piece = _next(pieces)
    while piece != "]":
        if piece == ",":
            piece = _next(pieces)
            continue
        value, piece = _value(piece, pieces, depth + 1)
        if piece not in {",", "]"}:
            raise _InvalidLiteralError
        found.append(value)
    return found


def _parse_scalar(piece: str) -> Any:
    if piece[0] in "\"'`":
        return parse_string(piece)
    if _NUMBER.fullmatch(piece):
        return float(piece) if "." in piece else int(piece)
    if piece in _WORDS:
        return _WORDS[piece]
    return piece if piece.isidentifier() and piece not in {"null", "undefined", "NaN"} else None


def parse_string(piece: str) -> str:
    """Give what a string of code says."""
    inner = piece[1:-1]
    if piece[0] != '"':
        inner = inner.replace("\\'", "'").replace("\\`", "`")
        inner = re.sub(r'(?<!\\)"', r"\"", inner)
    try:
        return str(json.loads(f'"{inner}"', strict=False))
    except ValueError:
        return inner
