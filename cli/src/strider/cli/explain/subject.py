"""A URL that is asked about, with the keys under which the crawler knows it. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from strider.contracts.generated.enums import DecisionReason
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

from .facts import reason_text

_MAX_SHOWN_CHARS: Final = 200
"""Of a text that is not a URL."""


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
        return UrlSubject(shown, refusal=_refusal(found, shown), text=shown)
    name = host_of(found)
    key = url_hash(url_key_of(found))
    return UrlSubject(found, key, origin_of(found), name, registrable_domain(name), text=shown)


def _refusal(refused: RefusedUrl, text: str) -> str:
    sentence = f"{_shortened(text)!r} is not a URL that a crawler takes: {refused.reason}"
    if refused.reason != DecisionReason.BAD_URL:
        return f"{sentence}. {reason_text(refused.reason)}"
    guess = to_wire_url(f"https://{text}") if "://" not in text else refused
    return sentence if isinstance(guess, RefusedUrl) else f"{sentence}; did you mean {guess}?"


def _shortened(text: str) -> str:
    return text if len(text) <= _MAX_SHOWN_CHARS else f"{text[:_MAX_SHOWN_CHARS]}…"
