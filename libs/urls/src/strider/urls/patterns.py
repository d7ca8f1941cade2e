"""Patterns by which people say which URLs they want.

A glob by default, `re:` for an expression. Both run on RE2, whose time is linear in the URL's
length whatever the pattern says; so nobody can stop a crawl with one. What RE2 does not know
(look-around, back-references) is refused when the pattern is read, with its own sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import re2  # type: ignore[import-untyped]  # the wheel has no types

MAX_PATTERN_CHARACTERS: Final = 512
"""Longest pattern; with the memory limit it bounds what compiling one can cost."""

MAX_PATTERNS: Final = 256
"""Most patterns in one list."""

_MEMORY_BYTES: Final = 1 << 20
"""What one compiled pattern may take, its caches included."""

_EXPRESSION_MARK: Final = "re:"
_AUTHORITY: Final = "https?://[^/]+"
_BRACKETS: Final = re.compile(r"[\[\]]").findall
_UNPAIRED: Final = "a bracket without its other half; brackets make no class here, write an expression (re:…)"
_GLOB: Final = {"*": ".*", "?": "."}


@dataclass(frozen=True, slots=True)
class InvalidPattern:
    """A pattern that cannot be used, and the sentence for the person who wrote it."""

    pattern: str
    detail: str


@dataclass(frozen=True, slots=True)
class UrlPatterns:
    """Any of several patterns."""

    texts: tuple[str, ...] = ()
    _searches: tuple[Any, ...] = ()

    def matches(self, url: str) -> bool:
        """Say whether one of them fits a URL as found."""
        return any(search(url) is not None for search in self._searches)


NO_PATTERNS: Final = UrlPatterns()


def compile_patterns(texts: Iterable[str]) -> UrlPatterns | InvalidPattern:
    """Read patterns; the first bad one is what comes back."""
    wanted = tuple(texts)
    if len(wanted) > MAX_PATTERNS:
        return InvalidPattern(wanted[MAX_PATTERNS], f"more than {MAX_PATTERNS} patterns in one list")
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MEMORY_BYTES
    searches = []
    for text in wanted:
        if not text or len(text) > MAX_PATTERN_CHARACTERS:
            return InvalidPattern(text[:80], f"a pattern has 1 to {MAX_PATTERN_CHARACTERS} characters")
        if fault := _bracket_error(text):
            return InvalidPattern(text, fault)
        try:
            searches.append(re2.compile(_expression(text), options).search)
        except (re2.error, ValueError) as failure:  # ValueError: lone surrogates
            return InvalidPattern(text, _sentence(failure))
    return UrlPatterns(wanted, tuple(searches))


def _bracket_error(text: str) -> str:
    """Say what is wrong with a glob that only means something where brackets make a class.

    Pairs stay: `?filter[name]=*` is what URLs look like.
    """
    if text.startswith(_EXPRESSION_MARK):
        return ""
    is_open = False
    for bracket in _BRACKETS(text):
        if (bracket == "[") == is_open:
            return _UNPAIRED
        is_open = not is_open
    return _UNPAIRED if is_open else ""


def _expression(text: str) -> str:
    """Turn a glob into an expression: on the whole URL if it names a scheme, else on path and query."""
    if text.startswith(_EXPRESSION_MARK):
        return text.removeprefix(_EXPRESSION_MARK)
    body = "".join(_GLOB.get(character) or re2.escape(character) for character in text)
    if "://" in text:
        return f"^{body}$"
    return f"^{_AUTHORITY}{body}$" if text.startswith(("/", "*")) else f"^{_AUTHORITY}/(?:.*/)?{body}$"


def _sentence(failure: Exception) -> str:
    detail = failure.args[0] if failure.args else failure
    return detail.decode(errors="replace") if isinstance(detail, bytes) else str(detail)
