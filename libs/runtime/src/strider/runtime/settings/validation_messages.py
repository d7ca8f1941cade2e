"""Validation messages for people: the one place that rewords pydantic's.

Leaves out what a person cannot use: that a value was an input, or by which exception a check refused it. The
caller names the setting.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_PREFIXES: Final = ("Value error, ", "Assertion failed, ", "Input ")
_BOUND_PROBLEMS: Final = frozenset({"less_than", "less_than_equal", "greater_than", "greater_than_equal"})
"""Problems with a number that was parsed; NaN fails the first one that is checked."""


def validation_message(problem: Mapping[str, Any]) -> str:
    """Return one of a ValidationError's `errors()` as one line."""
    value = problem.get("input")
    if problem.get("type") in _BOUND_PROBLEMS and isinstance(value, str | float) and _is_nan(str(value)):
        return f"must be a number, which {value} is not"
    return strip_prefixes(str(problem["msg"]))


def _is_nan(text: str) -> bool:
    return text.strip().lstrip("+-").lower() == "nan"


def strip_prefixes(message: str) -> str:
    """Return a message without pydantic's prefix."""
    text = " ".join(message.split())
    for prefix in _PREFIXES:
        text = text.removeprefix(prefix)
    return text
