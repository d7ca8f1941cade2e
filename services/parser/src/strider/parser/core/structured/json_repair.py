"""What does broken JSON say, as far as nothing has to be guessed?

Repairs only what cannot change a meaning: wrappings, comments, commas too many, escapes that are none,
entities of HTML, several values in a row, brackets that were not closed. A text that breaks off within a word
says nothing. Each repair is tried only when those before were not enough, in time that grows with the text.
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
# What has no end goes on to the end of the text: to look for its end again and again would take for ever.
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
_ENDS: Final = {"{": "}", "[": "]"}


def repair_json(text: str) -> list[Any]:
    """Read the values of a broken text; empty where repairs are not enough."""
    bare = _WRAPPING.sub("", _WRAPPING.sub("", text)).strip()
    forms = dict.fromkeys((bare, text.strip()))
    return next((values for repair in _REPAIRS for form in forms if (values := _values(repair(form)))), [])


def _values(text: str) -> list[Any]:
    """Read values that stand in a row; all of them, or none."""
    found: list[Any] = []
    for value in _each(text):
        if value is _INVALID:
            return []
        found.append(value)
    return found


def _each(text: str) -> Iterator[Any]:
    decoder = json.JSONDecoder(strict=False)
    at = _after(text, 0)
    for _ in range(MAX_VALUES):
        if at >= len(text) or (at and text[at] not in "{["):
            return
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            yield _INVALID
            return
        yield value
        at = _after(text, end)


_INVALID: Final = object()


def _after(text: str, at: int) -> int:
    match = _BETWEEN.match(text, at)
    return match.end() if match else at


def _remove_noise(text: str) -> str:
    # Twice: a comma before an end may be seen only without the comment between them.
    return _remove_noise_once(_remove_noise_once(text))


def _remove_noise_once(text: str) -> str:
    return _STRING_OR_NOISE.sub(lambda match: match["string"] or " " * bool(match["space"]), text)


def _fix_escapes(text: str) -> str:
    """Undo escapes that only scripts know, and leave out the signs of those that nobody does."""
    return _BAD_ESCAPE.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    if match["byte"]:
        return f"\\u00{match['byte']}"
    return match[0] if match[2] is None else match[2]


def _unescape_string(text: str) -> str:
    """Undo the escapes of a text that was put between quotes, and is not between any."""
    if _ESCAPED_BEGIN.match(text) is None:
        return ""
    try:
        return str(json.loads(f'"{text}"', strict=False))
    except ValueError:
        return ""


_ESCAPED_BEGIN: Final = re.compile(r'[\s\[]*\{\s*(?:\\[nrt]\s*)*\\"')


def _decode_entities(text: str) -> str:
    """Undo entities, where even the quotes of the text are written so."""
    return unescape(text) if '"' not in text and "&" in text else ""


def _closed(text: str) -> str:
    """Close brackets that stand open where the text ends after a whole value."""
    waiting: list[str] = []
    for match in _TOKEN.finditer(text):
        mark = match[0]
        if match["end"] == "":
            return ""  # it breaks off within a word
        if mark in _ENDS:
            waiting.append(_ENDS[mark])
        elif mark in "}]" and (not waiting or waiting.pop() != mark):
            return ""
    return text.rstrip().rstrip(",") + "".join(waiting[::-1]) if waiting else ""


def _clean_and_close(text: str) -> str:
    return _closed(_fix_escapes(_remove_noise(text)))


_PIECE: Final = re.compile(
    rf"{_STRING}|(?P<other>'(?>[^'\\]|\\.)*'|[\u201c\u201d](?>[^\u201c\u201d\"]*)[\u201c\u201d])"
    r"|(?P<word>[A-Za-z_$][\w$]*)|(?P<mark>[{}\[\],:])|(?P<number>[+-]?[\d.][\w.+-]*)",
    re.DOTALL,
)
_NUMBER: Final = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")
_COLON: Final = re.compile(r"\s*:")
_WORDS: Final = {"true": "true", "false": "false", "null": "null", "undefined": "null", "NaN": "null"}


def _from_script(text: str) -> str:
    """Write what a script may say, and JSON may not: names without quotes, other quotes, no comma between."""
    written: list[str] = []
    before, at = "", 0
    for match in _PIECE.finditer(text):
        piece = match[0]
        is_cut = match["end"] is not None and match["end"] != '"'
        if is_cut or text[at : match.start()].strip(" \t\r\n;"):
            return ""  # it breaks off within a word, or says what is no data
        at = match.end()
        is_value = match["mark"] is None
        if match["other"]:
            piece = _to_double_quotes(piece)
        elif match["number"]:
            piece = piece if _NUMBER.fullmatch(piece) else f'"{piece}"'  # with its zeros, as a GTIN has
        elif match["word"]:
            is_name = piece not in _WORDS and _COLON.match(text, at) is not None
            piece = f'"{piece}"' if is_name else _WORDS.get(piece, piece)
        if before and before not in "{[,:" and (is_value or piece in "{["):
            written.append(",")
        written.append(piece)
        before = piece if match["mark"] else "value"
    return "".join(written)


def _to_double_quotes(piece: str) -> str:
    """Put a string between the quotes of JSON."""
    within = re.sub(
        r"\\(.)|\"", lambda found: _QUOTE_ESCAPES.get(found[0], found[0]), piece[1:-1], flags=re.DOTALL
    )
    return f'"{within}"'


_QUOTE_ESCAPES: Final = {'"': '\\"', "\\'": "'"}

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
