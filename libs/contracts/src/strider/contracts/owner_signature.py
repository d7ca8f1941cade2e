"""Signature of seeds by an owner: a sender that has the deployment's key.

The topic of seeds is open to every producer. A message without a signature is a raw seed and has the rights
of an unknown sender; the header `owner-signature: v1=<hex>`, the HMAC-SHA256 of the message's value bytes,
shows that its sender has the key. The bytes are signed as they were sent, JSON or Avro, so that a signature
is checked before anything is decoded, and any client can make one.

A signature that does not match is a third case, and never that of a raw seed: its sender expects the rights
of an owner, and a seed with fewer rights would crawl something else, under other names. Pure.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

SIGNATURE_NAME: Final = "owner-signature"
MIN_KEY_CHARS: Final = 32
"""Of a key: shorter ones can be guessed from a single signed message."""

_VERSION: Final = "v1"
_SIGNATURE: Final = re.compile(rb"v1=([0-9a-f]{64})")
_SHOWN_BYTES: Final = 80


class SenderRole(StrEnum):
    """Role of a seed's sender."""

    OWNER = "owner"
    RAW = "raw"


@dataclass(frozen=True, slots=True)
class InvalidSignature:
    """A signature that does not show an owner, and the reason."""

    detail: str


def sign_value(value: bytes, key: str) -> tuple[str, bytes]:
    """Return the header that signs the bytes of a message's value."""
    return SIGNATURE_NAME, f"{_VERSION}={_digest(value, key)}".encode()


def identify_sender(
    value: bytes, headers: Sequence[tuple[str, bytes | None]], *, key: str
) -> SenderRole | InvalidSignature:
    """Return the role of a message's sender, by its value and headers; an empty key has no owners."""
    found = [content for name, content in headers if name == SIGNATURE_NAME]
    if not found:
        return SenderRole.RAW
    if len(found) > 1:
        return InvalidSignature(f"{SIGNATURE_NAME}: the header is given {len(found)} times, expected once")
    match = _SIGNATURE.fullmatch(found[0] or b"")
    if match is None:
        shown = repr((found[0] or b"")[:_SHOWN_BYTES].decode("utf-8", "replace"))
        return InvalidSignature(
            f"{SIGNATURE_NAME}: {shown} is not v1= and the 64 lower-case hex digits of an HMAC-SHA256"
        )
    if not key:
        return InvalidSignature(
            f"{SIGNATURE_NAME}: cannot be verified, because link-ingestion has no STRIDER_OWNER_KEY; set it "
            "there, or send the seed without a signature"
        )
    if not hmac.compare_digest(match[1], _digest(value, key).encode()):
        return InvalidSignature(
            f"{SIGNATURE_NAME}: does not match the value; the sender's STRIDER_OWNER_KEY differs from that "
            "of link-ingestion, or the message was changed after it was signed"
        )
    return SenderRole.OWNER


def _digest(value: bytes, key: str) -> str:
    return hmac.digest(key.encode(), value, "sha256").hex()
