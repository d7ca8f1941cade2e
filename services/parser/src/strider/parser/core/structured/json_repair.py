"""Repair broken JSON, as far as no guess is needed.

Only repairs that cannot change the meaning: wrappers, comments, surplus commas, invalid escapes, HTML
entities, several values in a row, unclosed brackets. A text truncated within a string is rejected. Repairs
are tried in order until one suffices, each in linear time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from html import unescape
from typing import Any, Final

MAX_VALUES: Final = 100

_WRAPPING: Final = re.compile(
    r"^\ufeff?\s*(?:<!--|//\s*<!\[CDATA\[|/\*\s*<!\[CDATA\[\s*\*/|<!\[CDATA\[)"
    r"|(?:-->|//\s*\]\]>|/\*\s*\]\]>\s*\*/|\]\]>)\s*;?\s*$"
)
# A section without an end extends to the end of the text: searching for the end repeatedly would take
# quadratic time.
_STRING: Final = r'"(?>[^"\\]|\\.)*(?P<end>"|\\?\Z)'
_STRING_OR_NOISE: Final = re.compile(
    rf"(?P<string>{_STRING})"
    r"|(?P<line>//[^\n]*)|(?P<markup><!--(?>[^-]|-(?!->))*(?:-->|\Z))"
    r"|(?P<block>/\*(?>[^*]|\*(?!/))*(?:\*/|\Z))"
    r"|(?P<comma>,(?=\s*[,}\]]))|(?P<space>[\xa0\u200b\u2028\u2029\u3000\ufeff\v\f]+)",
    re.DOTALL,
)
_BAD_ESCAPE: Final = re.compile(
    r'\\x(?P<byte>[0-9a-fA-F]{2})|\\(u(?![0-9a-fA-F]{4})|[^"\\/bfnrtu])|\\(.)', re.DOTALL
)
_BETWEEN: Final = re.compile(r"[\s,;]*")
_TOKEN: Final = re.compile(rf"{_STRING}|[\[\]{{}}]", re.DOTALL)
_CLOSING_BRACKETS: Final = {"{": "}", "[": "]"}


_INVALID: Final = object()


def _values(text: str) -> list[Any]:
    """Parse consecutive values; empty unless all of them are valid."""
    found: list[Any] = []
    for value in _decode_values(text):
        if value is _INVALID:
            return []
        found.append(value)
    return found


def _decode_values(text: str) -> Iterator[Any]:
    decoder = json.JSONDecoder(strict=False)
    at = _skip_separators(text, 0)
    for _ in range(MAX_VALUES):
        if at >= len(text) or (at and text[at] not in "{["):
            return
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            yield _INVALID
            return
        yield value
        at = _skip_separators(text, end)


def _skip_separators(text: str, at: int) -> int:
    match = _BETWEEN.match(text, at)
    return match.end() if match else at


def _remove_noise(text: str) -> str:
    # Twice: a comma before an end may become visible only once the comment between them is removed.
    return _remove_noise_once(_remove_noise_once(text))


def _remove_noise_once(text: str) -> str:
    return _STRING_OR_NOISE.sub(lambda match: match["string"] or " " * bool(match["space"]), text)


def _fix_escapes(text: str) -> str:
    """Convert escapes of JavaScript, and drop the backslash of invalid ones."""
    return _BAD_ESCAPE.sub(_fix_escape, text)


def _fix_escape(match: re.Match[str]) -> str:
    if match["byte"]:
        return f"\\u00{match['byte']}"
    return match[0] if match[2] is None else match[2]


_ESCAPED_BEGIN: Final = re.compile(r'[\s\[]*\{\s*(?:\\[nrt]\s*)*\\"')


def _unescape_string(text: str) -> str:
    """Unescape a text that was escaped as a string, but is not between quotes."""
    if _ESCAPED_BEGIN.match(text) is None:
        return ""
    try:
        return str(json.loads(f'"{text}"', strict=False))
    except ValueError:
        return ""


def _decode_entities(text: str) -> str:
    """Decode HTML entities, if even the quotes of the text are entities."""
    return unescape(text) if '"' not in text and "&" in text else ""


def _close_brackets(text: str) -> str:
    """Close the brackets that are open where the text ends after a whole value."""
    expected: list[str] = []
    for match in _TOKEN.finditer(text):
        bracket = match[0]
        if match["end"] == "":
            return ""  # truncated within a string
        if bracket in _CLOSING_BRACKETS:
            expected.append(_CLOSING_BRACKETS[bracket])
        elif bracket in "}]" and (not expected or expected.pop() != bracket):
            return ""
    return text.rstrip().rstrip(",") + "".join(expected[::-1]) if expected else ""


def _clean_and_close(text: str) -> str:
    return _close_brackets(_fix_escapes(_remove_noise(text)))


_SCRIPT_TOKEN: Final = re.compile(
    rf"{_STRING}|(?P<other>'(?>[^'\\]|\\.)*'|[\u201c\u201d](?>[^\u201c\u201d\"]*)[\u201c\u201d])"
    r"|(?P<word>[A-Za-z_$][\w$]*)|(?P<mark>[{}\[\],:])|(?P<number>[+-]?[\d.][\w.+-]*)",
    re.DOTALL,
)
_NUMBER: Final = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")
_COLON: Final = re.compile(r"\s*:")
_LITERALS: Final = {"true": "true", "false": "false", "null": "null", "undefined": "null", "NaN": "null"}


def _from_script(text: str) -> str:
    """Convert JavaScript syntax to JSON: unquoted names, other quotes, missing commas."""
    written: list[str] = []
    before, at = "", 0
    for match in _SCRIPT_TOKEN.finditer(text):
        piece = match[0]
        is_cut = match["end"] is not None and match["end"] != '"'
        if is_cut or text[at : match.start()].strip(" \t\r\n;"):
            return ""  # truncated within a string, or not data
        at = match.end()
        is_value = match["mark"] is None
        if match["other"]:
            piece = _to_double_quotes(piece)
        elif match["number"]:
            piece = piece if _NUMBER.fullmatch(piece) else f'"{piece}"'  # keeps leading zeros, as of a GTIN
        elif match["word"]:
            is_name = piece not in _LITERALS and _COLON.match(text, at) is not None
            piece = f'"{piece}"' if is_name else _LITERALS.get(piece, piece)
        if before and before not in "{[,:" and (is_value or piece in "{["):
            written.append(",")
        written.append(piece)
        before = piece if match["mark"] else "value"
    return "".join(written)


_QUOTE_ESCAPES: Final = {'"': '\\"', "\\'": "'"}


def _to_double_quotes(piece: str) -> str:
    """Convert a string literal to JSON quotes."""
    within = re.sub(
        r"\\(.)|\"", lambda found: _QUOTE_ESCAPES.get(found[0], found[0]), piece[1:-1], flags=re.DOTALL
    )
    return f'"{within}"'


_REPAIRS: Final[tuple[Callable[[str], str], ...]] = (
    str,
    _remove_noise,
    lambda text: _fix_escapes(_remove_noise(text)),
    lambda text: _remove_noise(_decode_entities(text)),
    lambda text: _remove_noise(_unescape_string(text)),
    _from_script,
    lambda text: _from_script(_remove_noise(text)),
    _clean_and_close,
)


def repair_json(text: str) -> list[Any]:
    """Return the values of a broken text; empty if it cannot be repaired."""
    bare = _WRAPPING.sub("", _WRAPPING.sub("", text)).strip()
    forms = dict.fromkeys((bare, text.strip()))
    return next((values for repair in _REPAIRS for form in forms if (values := _values(repair(form)))), [])
