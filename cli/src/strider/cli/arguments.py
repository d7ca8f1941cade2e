"""Names and files as they are typed: suggestions, and errors of files. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import Final

CUTOFF: Final = 0.6
"""Least similarity of a suggestion, 0 to 1."""
MAX_LISTED: Final = 12
"""Known names that are listed where none is similar."""


def closest(name: str, known: Iterable[str], *, cutoff: float = CUTOFF) -> str:
    """Return the known name that is most similar, else the first it begins; empty where none is similar."""
    names = list(known)
    near = get_close_matches(name, names, n=1, cutoff=cutoff)
    return near[0] if near else next((each for each in names if name and each.startswith(name)), "")


def unknown_name(kind: str, name: str, known: Iterable[str]) -> str:
    """Return the sentence for a name that does not exist, with the name that was probably meant."""
    names = list(known)
    if near := closest(name, names):
        return f"no {kind} {name!r}; did you mean {near}?"
    listed = ", ".join(names[:MAX_LISTED]) + (", …" if len(names) > MAX_LISTED else "")
    return f"no {kind} {name!r}; there are: {listed or 'none'}"


def file_error(path: Path | str, failure: OSError | ValueError, *, option: str = "") -> str:
    """Return the sentence for a file that cannot be read or written: `--from urls.txt: Is a directory`."""
    reason = getattr(failure, "strerror", None) or failure
    return f"{option} {path}: {reason}".lstrip()
