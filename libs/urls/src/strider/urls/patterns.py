"""Include and exclude patterns of URLs: globs, or regular expressions with `re:`.

All patterns of a list are compiled to one RE2 program, which reads a URL once. The work of a match is at most
the size of the program times the length of the URL, whatever the patterns, so both lists of a crawl spec
share one limit of that size. What costs more to compile than the limit allows is refused from its text alone.
Syntax that RE2 does not support (look-around, back-references) is refused when the pattern is compiled.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import re2  # type: ignore[import-untyped]  # the wheel has no types

from strider.contracts.seed_limits import MAX_PATTERN_BYTES, MAX_PATTERNS

from .pattern_size import expression_fault, expression_size

MAX_PATTERN_CHARACTERS: Final = 512
"""Maximum length of a pattern."""

MAX_PROGRAM_SIZE: Final = 1_000
"""Maximum number of RE2 instructions of both lists: a match costs at most this times the URL's bytes.

A character costs about one instruction. 1,000 of them need at most 10 ms for a URL of 2 KB.
"""

MAX_INLINE_STEPS: Final = 5_000_000
"""Instructions times bytes of URLs that a service may match in its event loop at a time: at most 50 ms.

More is matched in a thread; RE2 releases the interpreter's lock for a match, but not when it compiles.
"""

_MEMORY_BYTES: Final = 128 * 1024
"""Maximum memory of one list, caches included: the automata of eight globs fit."""

_CACHED_LISTS: Final = 256
"""Number of pairs of lists that are kept compiled: at most 64 MB."""

_EXPRESSION_MARK: Final = "re:"
_AUTHORITY: Final = "https?://[^/]+"
_BRACKETS: Final = re.compile(r"[\[\]]").findall
_UNPAIRED: Final = "unpaired bracket; globs have no character classes, use a regular expression (re:…)"
_GLOB: Final = {"*": ".*", "?": "."}
_TOO_LARGE: Final = "pattern too large"
"""Beginning of RE2's error about a program that does not fit into its memory."""

INCLUDE: Final = "include"
EXCLUDE: Final = "exclude"
_BOTH: Final = "include and exclude"


@dataclass(frozen=True, slots=True)
class InvalidPattern:
    """A pattern, or lists of patterns, that cannot be used, and the error message for their author."""

    pattern: str
    """Empty where no single pattern is at fault."""
    detail: str
    field: str = ""
    """The field of the crawl spec."""

    def sentence(self) -> str:
        """Return field, pattern and detail."""
        shown = f"{self.pattern!r:.100}" if self.pattern else ""
        return ": ".join(part for part in (self.field, shown, self.detail) if part)


@dataclass(frozen=True, slots=True)
class UrlPatterns:
    """A list of compiled patterns, any of which may match."""

    texts: tuple[str, ...] = ()
    size: int = 0
    """Number of instructions."""
    _search: Any = None

    def matches(self, url: str) -> bool:
        """Whether one of the patterns matches a wire URL."""
        return self._search is not None and self._search(url) is not None


NO_PATTERNS: Final = UrlPatterns()


@dataclass(frozen=True, slots=True)
class SpecPatterns:
    """Both lists of a crawl spec."""

    include: UrlPatterns = NO_PATTERNS
    exclude: UrlPatterns = NO_PATTERNS


def compile_patterns(
    include: Iterable[str] = (), exclude: Iterable[str] = ()
) -> SpecPatterns | InvalidPattern:
    """Compile both lists of a crawl spec; returns the first fault where there is any.

    Recent results are cached, so that equal lists cost nothing wherever they are compiled next.
    """
    lists = tuple(include), tuple(exclude)
    if not any(lists):
        return SpecPatterns()
    return _budget_fault(*lists) or _compile(*lists)


def _budget_fault(include: Sequence[str], exclude: Sequence[str]) -> InvalidPattern | None:
    """Check what is known without reading a pattern, so that huge lists cost nothing more."""
    if (count := len(include) + len(exclude)) > MAX_PATTERNS:
        return InvalidPattern("", f"{count} patterns together, the limit is {MAX_PATTERNS}", _BOTH)
    for field, texts in ((INCLUDE, include), (EXCLUDE, exclude)):
        for text in texts:
            if not text or len(text) > MAX_PATTERN_CHARACTERS:
                detail = f"a pattern of {len(text)} characters, expected 1 to {MAX_PATTERN_CHARACTERS}"
                return InvalidPattern(text[:80], detail, field)
    size_bytes = sum(len(text.encode(errors="surrogatepass")) for text in (*include, *exclude))
    if size_bytes > MAX_PATTERN_BYTES:
        return InvalidPattern(
            "", f"{size_bytes} bytes of patterns together, the limit is {MAX_PATTERN_BYTES}", _BOTH
        )
    return None


@lru_cache(maxsize=_CACHED_LISTS)
def _compile(include: tuple[str, ...], exclude: tuple[str, ...]) -> SpecPatterns | InvalidPattern:
    fields = ((INCLUDE, include), (EXCLUDE, exclude))
    sizes: dict[str, int] = {}
    for field, texts in fields:
        for text in texts:
            if fault := _text_fault(text):
                return InvalidPattern(text, fault, field)
            sizes[text] = _size_of(text)
    largest = max(sizes, key=sizes.__getitem__)
    if (total := sum(sizes[text] for text in (*include, *exclude))) > MAX_PROGRAM_SIZE:
        return _too_large(largest, str(total))
    compiled = []
    for field, texts in fields:
        patterns = _compile_list(field, texts)
        if isinstance(patterns, InvalidPattern):
            return patterns
        compiled.append(patterns)
    if (total := sum(patterns.size for patterns in compiled)) > MAX_PROGRAM_SIZE:
        return _too_large(largest, str(total))
    return SpecPatterns(*compiled)


def _compile_list(field: str, texts: tuple[str, ...]) -> UrlPatterns | InvalidPattern:
    if not texts:
        return NO_PATTERNS
    try:
        program = re2.compile(_alternation(texts).encode(), _options())
    except re2.error as failure:
        if (detail := _error_text(failure)).startswith(_TOO_LARGE):
            return _too_large("", f"more than {MAX_PROGRAM_SIZE}", field)
        return _first_invalid(field, texts) or InvalidPattern("", detail, field)
    return UrlPatterns(texts, program.programsize, program.search)


def _first_invalid(field: str, texts: tuple[str, ...]) -> InvalidPattern | None:
    """Return the first pattern that is not valid on its own; a glob always is."""
    for text in texts:
        if not _is_expression(text):
            continue
        try:
            re2.compile(text.removeprefix(_EXPRESSION_MARK).encode(), _options())
        except re2.error as failure:
            return InvalidPattern(text, _error_text(failure), field)
    return None


def _options() -> Any:
    """Return the options of a program.

    A wire URL is ASCII: with Latin-1 a class is one instruction for each of its ranges, with UTF-8 it would
    be up to a thousand.
    """
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MEMORY_BYTES
    options.encoding = re2.Options.Encoding.LATIN1
    options.never_capture = True
    return options


def _text_fault(text: str) -> str:
    """Return the fault of a pattern's text; empty for none."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return "a lone surrogate is not a character"
    if _is_expression(text):
        return expression_fault(text.removeprefix(_EXPRESSION_MARK))
    return _bracket_error(text)


def _bracket_error(text: str) -> str:
    """Return the error of a glob that makes sense only with character classes.

    Paired brackets are allowed: URLs look like `?filter[name]=*`.
    """
    is_open = False
    for bracket in _BRACKETS(text):
        if (bracket == "[") == is_open:
            return _UNPAIRED
        is_open = not is_open
    return _UNPAIRED if is_open else ""


def _size_of(text: str) -> int:
    """Return about how many instructions a pattern needs, known from its text."""
    if _is_expression(text):
        return expression_size(text.removeprefix(_EXPRESSION_MARK))
    return len(text)


def _alternation(texts: Sequence[str]) -> str:
    """Join patterns to one expression; globs share what they begin with."""
    whole: list[str] = []
    rooted: list[str] = []
    nested: list[str] = []
    expressions = [text.removeprefix(_EXPRESSION_MARK) for text in texts if _is_expression(text)]
    for text in (text for text in texts if not _is_expression(text)):
        # A glob is compared with the whole URL if it has a scheme, else with path and query.
        kind = whole if "://" in text else rooted if text.startswith(("/", "*")) else nested
        kind.append("".join(_GLOB.get(character) or re2.escape(character) for character in text))
    paths = [*rooted, f"/(?:.*/)?{_any_of(nested)}"] if nested else rooted
    branches = [f"^{_any_of(whole)}$"] if whole else []
    if paths:
        branches.append(f"^{_AUTHORITY}{_any_of(paths)}$")
    return "|".join((*branches, *(_any_of([each]) for each in expressions)))


def _is_expression(text: str) -> bool:
    return text.startswith(_EXPRESSION_MARK)


def _any_of(expressions: Sequence[str]) -> str:
    return f"(?:{'|'.join(expressions)})"


def _too_large(pattern: str, size: str, field: str = _BOTH) -> InvalidPattern:
    return InvalidPattern(
        pattern,
        f"the patterns compile to {size} instructions together, the limit is {MAX_PROGRAM_SIZE}; a character "
        "counts about one, and a repetition like {0,99} multiplies what it repeats",
        field,
    )


def _error_text(failure: Exception) -> str:
    detail = failure.args[0] if failure.args else failure
    return detail.decode(errors="replace") if isinstance(detail, bytes) else str(detail)
