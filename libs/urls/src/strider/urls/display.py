"""Escape texts that are not URLs, so that they can be stored, shown and found again.

Tables and terminals cannot hold NUL or lone surrogates. Replacing all of them by one character would make
different texts equal, so each is written as its JSON escape.
"""

from __future__ import annotations


def escape_unstorable(text: str) -> str:
    r"""Return a text with `\u0000` and lone surrogates such as `\ud800` written as JSON escapes."""
    if text.isascii() and "\0" not in text:
        return text
    return text.replace("\0", "\\u0000").encode("utf-8", "backslashreplace").decode()
