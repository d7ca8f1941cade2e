"""Which dead letters of seeds are about a URL.

A seed that could not be read has no key: all that is known of it are its bytes. The URL that they name
is read as the crawler reads it, so that it is found however it is written; one that no crawler takes is
found as it was sent, and by no other spelling.
"""

from __future__ import annotations

import re
from typing import Protocol

from strider.contracts.generated.events import DeadLetter
from strider.contracts.generated.topics import SEEDS_SUBMITTED
from strider.link_ingestion.core import url_in
from strider.urls import (
    HOST_NAME,
    RefusedUrl,
    escape_unstorable,
    host_kind,
    to_wire_url,
    url_hash,
    url_key_of,
)


class Named(Protocol):
    """What a URL is known by."""

    @property
    def key(self) -> str:
        """Its key; empty where the crawler takes no such URL."""

    @property
    def host(self) -> str:
        """Its host."""

    @property
    def text(self) -> str:
        """As it was asked for, with what cannot be stored written as JSON writes it."""


def may_be_named_in(letter: bytes, named: Named) -> bool:
    """Say whether a letter that was not decoded is worth it: bytes stand in it as they are."""
    if SEEDS_SUBMITTED.name.encode() not in letter:
        return False
    if not named.key:
        return not _is_plain(named.text) or named.text.encode() in letter.replace(b"\\/", b"/")
    # Names beyond ASCII and addresses are written in many ways.
    is_sure = host_kind(named.host) == HOST_NAME and "xn--" not in named.host
    return not is_sure or named.host.encode() in letter.lower() or not _is_plain(named.text)


def is_named_in(raw: bytes, named: Named) -> bool:
    """Say whether bytes, in any framing, name a URL."""
    sent = url_in(raw).strip()
    if not sent:
        return bool(named.text) and not named.key and _stands_alone(named.text.encode(), raw)
    found = to_wire_url(sent)
    if isinstance(found, RefusedUrl):
        return escape_unstorable(sent) == named.text
    return bool(named.key) and url_hash(url_key_of(found)) == named.key


def is_letter_about(letter: DeadLetter, named: Named) -> bool:
    """Say whether a dead letter is of a seed that names a URL."""
    is_seed = letter.topic == SEEDS_SUBMITTED.name and letter.value is not None
    return is_seed and is_named_in(letter.value or b"", named)


def _is_plain(text: str) -> bool:
    """Whether a text stands in bytes as it is told."""
    return text.isascii() and "\\u" not in text


def _stands_alone(text: bytes, plain: bytes) -> bool:
    """Find a text that is no part of a longer one."""
    return re.search(rb"(?<![\w./:-])" + re.escape(text) + rb"(?![\w./:-])", plain) is not None
