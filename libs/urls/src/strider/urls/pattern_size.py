"""Size of a regular expression, estimated from its text before it is compiled.

A counted repetition multiplies what it repeats, so `.{0,999}` in eight characters is a program of thousands
of instructions, and compiling a line of them takes many milliseconds however little memory RE2 may use. The
size here counts every token once for each time that it is repeated. It reads tokens and parentheses only;
whether an expression is valid is decided by RE2.
"""

from __future__ import annotations

import re
from typing import Final

_TOKENS: Final = re.compile(
    r"""
    \\Q.*?(?:\\E|\Z)                                # quoted text
    | \\x\{[0-9A-Fa-f]*\} | \\.                       # an escape
    | \[ \^?+ \]?+ (?: \[:\^?\w+:\] | \\. | [^\]\\] )*+ \]  # a class; nothing is taken back: `[]` has no end
    | \{ \d+ (?: , \d* )? \}                        # a counted repetition
    | .
    """,
    re.VERBOSE | re.DOTALL,
).findall
_RANGES: Final = re.compile(r"\[:\^?\w+:\]|\\x\{[0-9A-Fa-f]*\}|\\.|[^\]\\](?:-[^\]\\])?", re.DOTALL).findall
"""Members of a class, a range being one."""
_NUMBERS: Final = re.compile(r"\d+").findall
_ESCAPES: Final = re.compile(r"\\(.)", re.DOTALL).findall

_SIZES: Final = {".": 2, r"\w": 3, r"\W": 5, r"\s": 3, r"\S": 4, r"\D": 2}
"""Ranges of the tokens that have more than one."""

_NAMED_CLASS_RANGES: Final = 4
"""Ranges of the largest named class, `[:^alnum:]`."""

_UNICODE_CLASS: Final = (
    "Unicode classes (\\p, \\P) are not supported: a URL has ASCII characters only; use [A-Za-z] or [0-9]"
)
_MISSING_QUOTE_END: Final = "\\Q without \\E"
_UNEXPECTED_END: Final = "unexpected ): no group is open"
_MISSING_CLASS_END: Final = "missing ]: a class is not closed"


def expression_fault(expression: str) -> str:
    """Return the fault of an expression that RE2 would accept but should not be used; empty for none."""
    if not {"p", "P"}.isdisjoint(_ESCAPES(expression)):
        return _UNICODE_CLASS
    tokens = _TOKENS(expression)
    if tokens and tokens[-1].startswith("\\Q") and not tokens[-1].endswith("\\E"):
        return _MISSING_QUOTE_END
    if "[" in tokens:
        return _MISSING_CLASS_END  # the next pattern of the program could close it
    depth = 0
    for part in tokens:
        depth += (part == "(") - (part == ")")
        if depth < 0:
            return _UNEXPECTED_END
    return ""


def expression_size(expression: str) -> int:
    """Return the number of instructions, each as often as counted repetitions repeat it."""
    groups: list[int] = []
    size = last = 0
    """Of the group that is open, and of its last item."""
    for part in _TOKENS(expression):
        if part == "(":
            groups.append(size)
            size = last = 0
        elif part == ")":
            last = size + 1
            size = last + (groups.pop() if groups else 0)
        elif part[0] == "{" and len(part) > 1:
            repeated = _repeated_size(last, *map(int, _NUMBERS(part)))
            size += repeated - last
            last = repeated
        else:
            last = _token_size(part)
            size += last
    return size + sum(groups)


def _repeated_size(size: int, least: int, most: int = 0) -> int:
    """Return the size of a counted repetition: a repeat that is optional needs one more instruction."""
    return max(1, size * least + (size + 1) * max(0, most - least))


def _range_count(member: str) -> int:
    return _NAMED_CLASS_RANGES if member.startswith("[:") else _SIZES.get(member, 1)


def _token_size(token: str) -> int:
    if token.startswith("\\Q"):
        return max(1, len(token) - 4)
    if token[0] == "[":
        return max(1, sum(map(_range_count, _RANGES(token[1:-1]))))
    return _SIZES.get(token, 1)
