"""Errors of encoding and decoding messages.

    ContractError
    ├── EncodeError            an event that its schema cannot carry: a bug of the writer
    └── DecodeError            bytes that are not an event; `reason` is one of DECODE_REASONS
        └── UnknownSchema      the writer's schema is not known yet: read `schemas`, retry

A message with a DecodeError goes to the dead-letter topic with its reason; it is never skipped.
"""

from __future__ import annotations

from typing import Final

DECODE_REASONS: Final = (
    "empty",
    "bad_magic",
    "unknown_schema",
    "truncated",
    "trailing_bytes",
    "too_large",
    "bad_value",
    "incompatible_schema",
    "bad_json",
    "wrong_type",
    "missing_field",
    "unknown_field",
)
"""Reasons for rejecting bytes; used as metric label and as reason of the dead letter."""


class ContractError(Exception):
    """Base class of all contract errors."""


class EncodeError(ContractError):
    """The event does not fit its schema or its topic's size limit."""


class DecodeError(ContractError):
    """The bytes are not an event of this topic."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


class UnknownSchema(DecodeError):
    """The schema that the message was written with is not known here."""

    def __init__(self, *, fingerprint: bytes | None = None, registry_id: int | None = None) -> None:
        name = f"id {registry_id}" if fingerprint is None else f"fingerprint {fingerprint.hex()}"
        super().__init__("unknown_schema", f"no schema with {name}")
        self.fingerprint = fingerprint
        self.registry_id = registry_id
