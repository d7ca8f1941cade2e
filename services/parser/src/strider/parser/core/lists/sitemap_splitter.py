"""Where may a long list be cut, so that each piece can be read by itself?

Behind the end of an entry, unless that stands within a remark or the like; behind the end of a line. What
cannot be cut so is gathered as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

_ENDS: Final = ("</url>", "</sitemap>")
_PREFIXED_END: Final = re.compile(r"</[\w.-]{1,40}:(?:url|sitemap)>")
_NAMES: Final = ("url>", "sitemap>")
_LONGEST_NAME: Final = 16
_REMARKS: Final = (("<!--", "-->"), ("<![CDATA[", "]]>"))
_INSTRUCTIONS: Final = (("<?", "?>"),)
"""What is within these is no markup."""

_DECLARATION: Final = re.compile(r"<!(?!--|\[CDATA\[)")


class SitemapPiece(NamedTuple):
    """A piece of a document that ends with an entry, or with the document."""

    text: str
    is_first: bool
    is_last: bool


def split_sitemap(texts: Iterable[str]) -> Iterator[SitemapPiece]:
    """Cut a document, of which all but the last stretch are whole entries."""
    held: list[str] = []
    is_first, tail, size, tried_at = True, "", 0, 0
    for text in texts:
        held.append(text)
        size += len(text)
        has_end = any(name in text or name in tail + text[:_LONGEST_NAME] for name in _NAMES)
        tail = text[-_LONGEST_NAME:]
        if not has_end or size < 2 * tried_at:
            continue
        whole = "".join(held)
        cut = _last_entry_end(whole)
        held, size, tried_at = [whole[cut:]], len(whole) - cut, 0 if cut else len(whole)
        if cut:
            yield SitemapPiece(whole[:cut], is_first, is_last=False)
            is_first = False
    yield SitemapPiece("".join(held), is_first, is_last=True)


def _last_entry_end(text: str) -> int:
    """Say where the last entry of a text ends; 0 where it must not be cut there."""
    ends = (text.rfind(end) + len(end) for end in _ENDS if end in text)
    at = next(ends, 0)  # a document has entries of one kind
    if not at:  # where names have a prefix
        at = max((match.end() for match in _PREFIXED_END.finditer(text)), default=0)
    # One character is looked for ten times as fast as two.
    if (
        "!" in text
        and "<!" in text
        and (_DECLARATION.search(text, 0, at) or _may_be_within(text, at, _REMARKS))
    ):
        return 0  # a declaration may have a part of its own, with anything in it
    return 0 if "?" in text and "<?" in text and _may_be_within(text, at, _INSTRUCTIONS) else at


def _may_be_within(text: str, at: int, quotes: tuple[tuple[str, str], ...]) -> bool:
    """Say whether a place may be within one of these."""
    return any(text.rfind(begin, 0, at) > text.rfind(end, 0, at) for begin, end in quotes)


def split_lines(texts: Iterable[str]) -> Iterator[list[str]]:
    """Cut a text into lines, some at a time."""
    held: list[str] = []
    is_first = True
    for text in texts:
        before, end, after = text.rpartition("\n")
        if not end:
            held.append(text)
            continue
        lines = "".join([*held, before])
        yield (lines.lstrip().lstrip("\ufeff") if is_first else lines).split("\n")
        held, is_first = [after], False
    lines = "".join(held)
    yield (lines.lstrip().lstrip("\ufeff") if is_first else lines).split("\n")
