"""Include and exclude patterns of URLs: globs, or regular expressions with `re:`.

Both run on RE2, whose time is linear in the length of the URL, so no pattern can stall a crawl. Syntax that
RE2 does not support (look-around, back-references) is refused when the pattern is compiled.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import re2  # type: ignore[import-untyped]  # the wheel has no types

MAX_PATTERN_CHARACTERS: Final = 512
"""Maximum length of a pattern; with the memory limit it bounds the cost of compiling one."""

MAX_PATTERNS: Final = 256
"""Maximum number of patterns in one list."""

_MEMORY_BYTES: Final = 1 << 20
"""Maximum memory of one compiled pattern, its caches included."""

_EXPRESSION_MARK: Final = "re:"
_AUTHORITY: Final = "https?://[^/]+"
_BRACKETS: Final = re.compile(r"[\[\]]").findall
_UNPAIRED: Final = "unpaired bracket; globs have no character classes, use a regular expression (re:…)"
_GLOB: Final = {"*": ".*", "?": "."}


@dataclass(frozen=True, slots=True)
class InvalidPattern:
    """A pattern that cannot be used, and the error message for its author."""

    pattern: str
    detail: str


@dataclass(frozen=True, slots=True)
class UrlPatterns:
    """A list of compiled patterns, any of which may match."""

    texts: tuple[str, ...] = ()
    _searches: tuple[Any, ...] = ()

    def matches(self, url: str) -> bool:
        """Whether one of the patterns matches a wire URL."""
        return any(search(url) is not None for search in self._searches)


NO_PATTERNS: Final = UrlPatterns()


def compile_patterns(texts: Iterable[str]) -> UrlPatterns | InvalidPattern:
    """Compile patterns; returns the first invalid one where there is any."""
    wanted = tuple(texts)
    if len(wanted) > MAX_PATTERNS:
        return InvalidPattern(wanted[MAX_PATTERNS], f"more than {MAX_PATTERNS} patterns in one list")
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MEMORY_BYTES
    searches = []
    for text in wanted:
        if not text or len(text) > MAX_PATTERN_CHARACTERS:
            return InvalidPattern(text[:80], f"a pattern must have 1 to {MAX_PATTERN_CHARACTERS} characters")
        if fault := _bracket_error(text):
            return InvalidPattern(text, fault)
        try:
            searches.append(re2.compile(_expression(text), options).search)
        except (re2.error, ValueError) as failure:  # ValueError: lone surrogates
            return InvalidPattern(text, _error_text(failure))
    return UrlPatterns(wanted, tuple(searches))


def _bracket_error(text: str) -> str:
    """Return the error of a glob that makes sense only with character classes.

    Paired brackets are allowed: URLs look like `?filter[name]=*`.
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
    """Convert a glob to an expression: on the whole URL if it names a scheme, else on path and query."""
    if text.startswith(_EXPRESSION_MARK):
        return text.removeprefix(_EXPRESSION_MARK)
    body = "".join(_GLOB.get(character) or re2.escape(character) for character in text)
    if "://" in text:
        return f"^{body}$"
    return f"^{_AUTHORITY}{body}$" if text.startswith(("/", "*")) else f"^{_AUTHORITY}/(?:.*/)?{body}$"


def _error_text(failure: Exception) -> str:
    detail = failure.args[0] if failure.args else failure
    return detail.decode(errors="replace") if isinstance(detail, bytes) else str(detail)
