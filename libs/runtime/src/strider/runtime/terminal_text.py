r"""Foreign text for terminals: characters that control a terminal are shown as escapes.

URLs, titles, headers and log lines come from sites and producers. A terminal obeys what is in them: it may
change its title, write the clipboard, delete lines or show them in another order. Each such character is
written as its JSON escape (`\u001b`), so that escaped JSON is JSON of the same value.
"""

from __future__ import annotations

import re
from typing import Final

_CONTROLS: Final = (
    r"\x00-\x08\x0b-\x1f"  # C0, but for tab and line feed
    r"\x7f-\x9f"  # DEL, C1
    r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # marks, embeddings, overrides and isolates of direction
    r"\u2028\u2029"  # line and paragraph separator
)
_IN_LINES: Final = re.compile(f"[{_CONTROLS}]")
_IN_ONE_LINE: Final = re.compile(rf"[\t\n{_CONTROLS}]")


def escape_controls(text: str, *, keeps_lines: bool = True) -> str:
    r"""Return a text with control characters as escapes; tabs and line feeds too unless lines are kept."""
    pattern = _IN_LINES if keeps_lines else _IN_ONE_LINE
    return pattern.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"
