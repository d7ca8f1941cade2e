"""Parse object literals in JavaScript: bare names, single quotes, computed values.

Parses one object from its start. Nothing is executed; computed values are None. Time grows linearly with the
text, whose length and depth are bounded.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

MAX_CHARS: Final = 20_000
MAX_DEPTH: Final = 12

# A comment without an end extends to the end of the text: searching for the end repeatedly would take
# quadratic time.
_TOKEN: Final = re.compile(
    r"\s+|//[^\n]*|/\*(?>[^*]|\*(?!/))*(?:\*/|\Z)"
    r'|(?P<lexeme>"(?>[^"\\]|\\.)*"|\'(?>[^\'\\]|\\.)*\'|`(?>[^`\\]|\\.)*`|[{}\[\](),:"\'`]|[^\s{}\[\](),:"\'`]+)',
    re.DOTALL,
)
_NUMBER: Final = re.compile(r"-?\d{1,30}(?:\.\d{1,30})?")
"""Longer numbers are not meaningful, and Python refuses to parse them."""

_QUOTES: Final = frozenset("\"'`")
_LITERALS: Final = {"true": True, "false": False}
_CLOSING: Final = {"{": "}", "[": "]", "(": ")"}


class _InvalidLiteralError(Exception):
    """The text is not an object literal, or is truncated."""


def parse_object(text: str, start: int) -> dict[str, Any] | None:
    """Parse the object literal at this position; None if there is none."""
    tokens = _tokens(text, start)
    try:
        value, _ = _parse_value(next(tokens, ""), tokens, 0)
    except _InvalidLiteralError:
        return None
    return value if isinstance(value, dict) else None


def _tokens(text: str, start: int) -> Iterator[str]:
    for match in _TOKEN.finditer(text, start, start + MAX_CHARS):
        if (lexeme := match["lexeme"]) in _QUOTES:
            return  # A string without an end: to continue would search for its end repeatedly.
        if lexeme:
            yield lexeme


def _next_token(tokens: Iterator[str]) -> str:
    lexeme = next(tokens, "")
    if not lexeme:
        raise _InvalidLiteralError
    return lexeme


def _parse_value(lexeme: str, tokens: Iterator[str], depth: int) -> tuple[Any, str]:
    """Parse a value; return it with the lexeme after it."""
    if depth > MAX_DEPTH:
        raise _InvalidLiteralError
    if lexeme == "{":
        return _parse_members(tokens, depth), next(tokens, "")
    if lexeme == "[":
        return _parse_elements(tokens, depth), next(tokens, "")
    behind = next(tokens, "")
    if behind in {",", "}", "]"}:
        return _parse_scalar(lexeme), behind
    while behind not in {",", "}", "]", ""}:  # a computed value
        behind = _skip_brackets(behind, tokens) if behind in _CLOSING else next(tokens, "")
    return None, behind


def _skip_brackets(opening: str, tokens: Iterator[str]) -> str:
    """Skip a bracketed expression; return the lexeme after it."""
    open_ones = [_CLOSING[opening]]
    while open_ones:
        lexeme = _next_token(tokens)
        if lexeme in _CLOSING:
            open_ones.append(_CLOSING[lexeme])
        elif lexeme == open_ones[-1]:
            open_ones.pop()
    return next(tokens, "")


def _parse_members(tokens: Iterator[str], depth: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    lexeme = _next_token(tokens)
    while lexeme != "}":
        if lexeme == ",":
            lexeme = _next_token(tokens)
            continue
        name = _parse_scalar(lexeme)
        if _next_token(tokens) != ":":
            raise _InvalidLiteralError
        value, lexeme = _parse_value(_next_token(tokens), tokens, depth + 1)
        if lexeme not in {",", "}"}:
            raise _InvalidLiteralError
        found[str(name if name is not None else lexeme)] = value
    return found


def _parse_elements(tokens: Iterator[str], depth: int) -> list[Any]:
    found: list[Any] = []
    lexeme = _next_token(tokens)
    while lexeme != "]":
        if lexeme == ",":
            lexeme = _next_token(tokens)
            continue
        value, lexeme = _parse_value(lexeme, tokens, depth + 1)
        if lexeme not in {",", "]"}:
            raise _InvalidLiteralError
        found.append(value)
    return found


def _parse_scalar(lexeme: str) -> Any:
    if lexeme[0] in "\"'`":
        return parse_string(lexeme)
    if _NUMBER.fullmatch(lexeme):
        return float(lexeme) if "." in lexeme else int(lexeme)
    if lexeme in _LITERALS:
        return _LITERALS[lexeme]
    return lexeme if lexeme.isidentifier() and lexeme not in {"null", "undefined", "NaN"} else None


def parse_string(literal: str) -> str:
    """Return the value of a string literal."""
    inner = literal[1:-1]
    if literal[0] != '"':
        inner = inner.replace("\\'", "'").replace("\\`", "`")
        inner = re.sub(r'(?<!\\)"', r"\"", inner)
    try:
        return str(json.loads(f'"{inner}"', strict=False))
    except ValueError:
        return inner
