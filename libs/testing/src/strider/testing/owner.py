"""An owner of seeds for tests: its key, settings with it, headers of signed seeds."""

from __future__ import annotations

from typing import Final

from strider.contracts.owner_signature import sign_value

OWNER_KEY: Final = "key-of-the-owner-in-tests-0123456789abcdef"
HEADERS_KEY: Final = "key-of-headers-in-tests-0123456789abcdef"
OWNER_SETTINGS: Final = {"STRIDER_OWNER_KEY": OWNER_KEY, "STRIDER_HEADERS_KEY": HEADERS_KEY}
"""Environment of link-ingestion, of the API and of commands."""


def owner_headers(value: bytes, *, key: str = OWNER_KEY) -> list[tuple[str, bytes]]:
    """Return the headers of a seed that an owner sends, for any Kafka client."""
    return [sign_value(value, key)]
