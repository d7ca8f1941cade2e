"""Kinds of values that a setting may have: durations with units, lists, words, addresses with a password.

Knows how one value is read and shown, and nothing of which settings there are.
"""

from __future__ import annotations

import math
import re
from typing import Annotated, Any, Final, NamedTuple

from pydantic import BeforeValidator, Field, SecretStr


class Variable(NamedTuple):
    """The name of a field's environment variable, where prefix and field name do not give it."""

    name: str


class SecretUrl(SecretStr):
    """An address that may carry a password: shown without it, never hidden as a whole."""

    def _display(self) -> str:
        return hide_password(self.get_secret_value())


_DURATION = re.compile(r"(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>ms|s|m|h|d)?", re.ASCII)
_UNITS: Final = {"ms": 0.001, None: 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_USERINFO = re.compile(r"(?P<start>://[^/?#@:\s]*):[^/?#\s]*@")


def hide_password(address: str) -> str:
    """Replace the password of a URL by stars; anything else stays as it is."""
    return _USERINFO.sub(r"\g<start>:***@", address)


def parse_duration(value: Any) -> Any:
    """Read `300`, `300s`, `5m`, `250ms`, `1h` or `1d` as seconds."""
    if not isinstance(value, str):
        return value
    found = _DURATION.fullmatch(value.strip())
    if found is None:
        raise ValueError("must be a duration such as 300, 300s, 5m or 250ms")
    return float(found["number"]) * _UNITS[found["unit"]]


def split_words(value: Any) -> Any:
    """Read `a, b c` as three words, so that a list fits into one variable."""
    return tuple(re.split(r"[,\s]+", value.strip())) if isinstance(value, str) else value


def lower(value: Any) -> Any:
    """Read a word in any case."""
    return value.lower() if isinstance(value, str) else value


def upper(value: Any) -> Any:
    """Read a word in any case."""
    return value.upper() if isinstance(value, str) else value


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("must be a finite number")
    return value


Seconds = Annotated[float, BeforeValidator(_finite), BeforeValidator(parse_duration), Field(ge=0)]
"""A duration in seconds; variables also take a unit."""

PositiveSeconds = Annotated[float, BeforeValidator(_finite), BeforeValidator(parse_duration), Field(gt=0)]

Words = Annotated[tuple[str, ...], BeforeValidator(split_words)]
"""Several words in one variable, parted by commas or blanks."""
