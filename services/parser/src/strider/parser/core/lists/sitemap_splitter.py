"""Split a long sitemap or URL list into pieces that can be parsed independently.

Splits after the end tag of an entry, unless that is within a comment, a CDATA section or the like, and after
line ends. A text without such a position is buffered as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

_ENTRY_END_TAGS: Final = ("</url>", "</sitemap>")
_PREFIXED_END: Final = re.compile(r"</[\w.-]{1,40}:(?:url|sitemap)>")
_END_TAG_NAMES: Final = ("url>", "sitemap>")
_LONGEST_NAME: Final = 16
_QUOTED_SECTIONS: Final = (("<!--", "-->"), ("<![CDATA[", "]]>"))
_INSTRUCTIONS: Final = (("<?", "?>"),)
"""Sections whose content is not markup."""

_DECLARATION: Final = re.compile(r"<!(?!--|\[CDATA\[)")


class SitemapPiece(NamedTuple):
    """A piece of a sitemap that ends after an entry, or at the end of the document."""

    text: str
    is_first: bool
    is_last: bool


def split_sitemap(texts: Iterable[str]) -> Iterator[SitemapPiece]:
    """Yield pieces of a sitemap; all but the last consist of whole entries."""
    buffered: list[str] = []
    is_first, tail, size, tried_at = True, "", 0, 0
    for text in texts:
        buffered.append(text)
        size += len(text)
        has_end = any(name in text or name in tail + text[:_LONGEST_NAME] for name in _END_TAG_NAMES)
        tail = text[-_LONGEST_NAME:]
        if not has_end or size < 2 * tried_at:
            continue
        whole = "".join(buffered)
        cut = _last_entry_end(whole)
        buffered, size, tried_at = [whole[cut:]], len(whole) - cut, 0 if cut else len(whole)
        if cut:
            yield SitemapPiece(whole[:cut], is_first, is_last=False)
            is_first = False
    yield SitemapPiece("".join(buffered), is_first, is_last=True)


def _last_entry_end(text: str) -> int:
    """Return the end of the last entry in a text; 0 if it is not safe to split there."""
    ends = (text.rfind(end) + len(end) for end in _ENTRY_END_TAGS if end in text)
    at = next(ends, 0)  # A document has one kind of entries.
    if not at:  # Tag names may have a prefix.
        at = max((match.end() for match in _PREFIXED_END.finditer(text)), default=0)
    # Searching for one character is ten times as fast as for two.
    if (
        "!" in text
        and "<!" in text
        and (_DECLARATION.search(text, 0, at) or _may_be_within(text, at, _QUOTED_SECTIONS))
    ):
        return 0  # A declaration may contain an internal subset with any content.
    return 0 if "?" in text and "<?" in text and _may_be_within(text, at, _INSTRUCTIONS) else at


def _may_be_within(text: str, at: int, quotes: tuple[tuple[str, str], ...]) -> bool:
    """Whether a position may be within one of these sections."""
    return any(text.rfind(begin, 0, at) > text.rfind(end, 0, at) for begin, end in quotes)


def split_lines(texts: Iterable[str]) -> Iterator[list[str]]:
    """Yield the lines of a text in batches."""
    buffered: list[str] = []
    is_first = True
    for text in texts:
        before, end, after = text.rpartition("\n")
        if not end:
            buffered.append(text)
            continue
        lines = "".join([*buffered, before])
        yield (lines.lstrip().lstrip("\ufeff") if is_first else lines).split("\n")
        buffered, is_first = [after], False
    lines = "".join(buffered)
    yield (lines.lstrip().lstrip("\ufeff") if is_first else lines).split("\n")
