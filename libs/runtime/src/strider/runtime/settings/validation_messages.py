"""What is wrong with a value, in words for whoever has set it: the one place that rewords pydantic's.

Of pydantic's problems only what a person can use is told: not that a value was an input, nor by which
exception a check has refused it. Whose value it was is said by the caller.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_PREFIXES: Final = ("Value error, ", "Assertion failed, ", "Input ")
_BOUND_PROBLEMS: Final = frozenset({"less_than", "less_than_equal", "greater_than", "greater_than_equal"})
"""Problems with a number that was read; NaN fails the first one there is."""


def validation_message(problem: Mapping[str, Any]) -> str:
    """Say one of a ValidationError's `errors()` in one line."""
    said = problem.get("input")
    if problem.get("type") in _BOUND_PROBLEMS and isinstance(said, str | float) and _is_nan(str(said)):
        return f"must be a number, which {said} is not"
    return strip_prefixes(str(problem["msg"]))


def _is_nan(text: str) -> bool:
    return text.strip().lstrip("+-").lower() == "nan"


def strip_prefixes(message: str) -> str:
    """Leave out of such a message what it begins with."""
    text = " ".join(message.split())
    for prefix in _PREFIXES:
        text = text.removeprefix(prefix)
    return text
