"""What can be wrong with the bytes of a message.

    ContractError
    ├── EncodeError            an event that its own schema cannot carry: a bug of the writer
    └── DecodeError            bytes that are no event; `reason` is one word of DECODE_REASONS
        └── UnknownSchema      the writer's schema is not known (yet): read `schemas`, then judge

A DecodeError ends in the dead-letter queue with its reason; it is never logged and skipped.
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
"""Why bytes were refused; each becomes a metric label and the reason in the dead letter."""


class ContractError(Exception):
    """Root of the tree."""


class EncodeError(ContractError):
    """The event does not fit its schema or its topic's size limit."""


class DecodeError(ContractError):
    """The bytes are no event of this topic."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


class UnknownSchema(DecodeError):
    """Nobody here knows the schema that the message was written with."""

    def __init__(self, *, fingerprint: bytes | None = None, registry_id: int | None = None) -> None:
        name = f"id {registry_id}" if fingerprint is None else f"fingerprint {fingerprint.hex()}"
        super().__init__("unknown_schema", f"no schema with {name}")
        self.fingerprint = fingerprint
        self.registry_id = registry_id
