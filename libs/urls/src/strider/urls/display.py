"""How a text that is no URL is told: whatever is in it, so that it can be stored and found again.

Tables and terminals carry no NUL and no half of a surrogate pair. Putting one sign for all of them
would make texts the same that are not, so each is written as JSON writes it.
"""

from __future__ import annotations


def escape_unstorable(text: str) -> str:
    r"""Give a text as it can be stored everywhere: `\u0000` and `\ud800` for what cannot."""
    if text.isascii() and "\0" not in text:
        return text
    return text.replace("\0", "\\u0000").encode("utf-8", "backslashreplace").decode()
