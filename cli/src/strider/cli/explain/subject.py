"""A URL that is asked about, with the keys under which the crawler knows it. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from strider.cli.typed_urls import refusal_text
from strider.urls import (
    RefusedUrl,
    escape_unstorable,
    host_of,
    origin_of,
    registrable_domain,
    to_wire_url,
    url_hash,
    url_key_of,
)


@dataclass(frozen=True, slots=True)
class UrlSubject:
    """A URL as the crawler knows it; without keys where no crawler takes it."""

    url: str
    """As it would be fetched; as it is written, where it would not be."""
    key: str = ""
    """Empty where no crawler takes it; so are the following fields."""
    origin: str = ""
    host: str = ""
    domain: str = ""
    refusal: str = ""
    """Sentence about why no crawler takes it."""
    text: str = ""
    """As it is written, with what cannot be stored escaped as in JSON: the search text without a key."""


def parse_subject(text: str) -> UrlSubject:
    """Parse a URL as the crawler does; a refused one has the reason."""
    typed = text.strip()
    shown, found = escape_unstorable(typed), to_wire_url(typed)
    if isinstance(found, RefusedUrl):
        return UrlSubject(shown, refusal=refusal_text(shown, found), text=shown)
    name = host_of(found)
    key = url_hash(url_key_of(found))
    return UrlSubject(found, key, origin_of(found), name, registrable_domain(name), text=shown)
