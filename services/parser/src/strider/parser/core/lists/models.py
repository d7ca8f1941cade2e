"""Entries of a parsed sitemap or feed.

The interface between the list parsers and the event. URLs are resolved; an invalid URL is empty and does not
become a link. All fields are bounded, since a document may list any amount.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from strider.contracts.fast_dataclass import fast_dataclass

MAX_ENTRIES: Final = 50_000
"""The limit of the sitemap protocol for one file."""
MAX_TEXT_CHARS: Final = 1_000
MAX_DETAIL_BYTES: Final = 128 * 1024
NO_DETAILS: Final[dict[str, Any]] = {}
"""Shared by all entries without details; must not be modified."""


@fast_dataclass(frozen=True, slots=True)
class ListEntry:
    """One listed URL."""

    url: str = ""
    title: str = ""
    lastmod_ms: int = -1
    changefreq: str = ""
    priority: float = -1.0
    details: dict[str, Any] = field(default_factory=dict)
    """Further fields of the entry, for records."""


@dataclass(frozen=True, slots=True)
class ListDocument:
    """A parsed list document."""

    title: str = ""
    description: str = ""
    language: str = ""
    url: str = ""
    """The page that a feed is about."""
    about: dict[str, Any] = field(default_factory=dict)
    """Further fields of the document, for records."""
    entries: Sequence[ListEntry] = ()
    found: int = 0
    """Number of entries, including those beyond the limit."""
    is_index: bool = False
