"""Which dead letters of seeds are about a URL.

A seed that could not be read has no key: all that is known of it are its bytes. What looks like a
URL in them is read as the crawler reads it, so that it is found however it is written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, Protocol

from strider.contracts.generated.events import DeadLetter
from strider.contracts.generated.topics import SEEDS_SUBMITTED
from strider.urls import Refused, as_found, key_of, url_hash

_LIKE_A_URL: Final = re.compile(rb"https?:[^\s\"'<>\\\x00-\x1f]+", re.IGNORECASE)
_ESCAPED_SLASH: Final = b"\\/"
"""How some writers of JSON put a slash."""


class Named(Protocol):
    """What a URL is known by."""

    @property
    def key(self) -> str:
        """Its key; empty where the crawler takes no such URL."""

    @property
    def text(self) -> str:
        """As it was asked for."""


def is_named_in(raw: bytes, named: Named) -> bool:
    """Say whether bytes, in any framing, name a URL."""
    plain = raw.replace(_ESCAPED_SLASH, b"/")
    if not named.key:
        return bool(named.text) and _stands_alone(named.text.encode("utf-8", "replace"), plain)
    return any(key == named.key for key in _keys_in(plain))


def is_letter_about(letter: DeadLetter, named: Named) -> bool:
    """Say whether a dead letter is of a seed that names a URL."""
    is_seed = letter.topic == SEEDS_SUBMITTED.name and letter.value is not None
    return is_seed and is_named_in(letter.value or b"", named)


def _keys_in(plain: bytes) -> Iterator[str]:
    for match in _LIKE_A_URL.finditer(plain):
        found = as_found(match[0].decode("utf-8", "replace"))
        if not isinstance(found, Refused):
            yield url_hash(key_of(found))


def _stands_alone(text: bytes, plain: bytes) -> bool:
    """Find a text that is no part of a longer one."""
    return re.search(rb"(?<![\w./:-])" + re.escape(text) + rb"(?![\w./:-])", plain) is not None
