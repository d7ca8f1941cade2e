"""Dead letters of seeds that name a URL. Pure.

A seed that could not be decoded has no key: only its bytes are known. The URL in them is parsed as the
crawler parses it, so that each spelling is found; one that no crawler takes is found as it was sent only.
"""

from __future__ import annotations

import re

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

from .subject import UrlSubject


def may_name(letter: bytes, subject: UrlSubject) -> bool:
    """Whether an undecoded letter may name the URL, and is to be decoded: bytes are unescaped in it."""
    if SEEDS_SUBMITTED.name.encode() not in letter:
        return False
    if not subject.key:
        return not _is_unescaped(subject.text) or subject.text.encode() in letter.replace(b"\\/", b"/")
    # Host names beyond ASCII and IP addresses have many spellings.
    is_sure = host_kind(subject.host) == HOST_NAME and "xn--" not in subject.host
    return not is_sure or subject.host.encode() in letter.lower() or not _is_unescaped(subject.text)


def names_url(raw: bytes, subject: UrlSubject) -> bool:
    """Whether the bytes of a seed, in any framing, name the URL."""
    sent = url_in(raw).strip()
    if not sent:
        return bool(subject.text) and not subject.key and _contains_whole(subject.text.encode(), raw)
    found = to_wire_url(sent)
    if isinstance(found, RefusedUrl):
        return escape_unstorable(sent) == subject.text
    return bool(subject.key) and url_hash(url_key_of(found)) == subject.key


def is_about(letter: DeadLetter, subject: UrlSubject) -> bool:
    """Whether a dead letter is of a seed that names the URL."""
    is_seed = letter.topic == SEEDS_SUBMITTED.name and letter.value is not None
    return is_seed and names_url(letter.value or b"", subject)


def _is_unescaped(text: str) -> bool:
    """Whether a text has the same bytes in every encoding and escaping."""
    return text.isascii() and "\\u" not in text


def _contains_whole(text: bytes, plain: bytes) -> bool:
    """Whether bytes contain a text that is not part of a longer one."""
    return re.search(rb"(?<![\w./:-])" + re.escape(text) + rb"(?![\w./:-])", plain) is not None
