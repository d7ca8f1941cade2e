"""Personal headers, which identify a person or an account, and their encrypted form.

A header is personal if `is_sensitive_header` says so. Its value is published in an encrypted form alone, one
text that every header can hold:

    strider-encrypted-v1 https://a.test,https://b.test BASE64URL

The origins are those that the value was given for. They are readable, so that a request to another origin
does not even carry the encrypted value, and part of what is authenticated, so that no one can add one. Keys
and ciphers are in `strider.storage.encryption`. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from .sensitive_headers import is_sensitive_header

MAX_ORIGINS: Final = 32
"""Origins that one value may be given for: each request to one of them carries the list."""

HEADERS_KEY_VARIABLE: Final = "STRIDER_HEADERS_KEY"

SYNTHETIC_IV_BYTES: Final = 16
"""Bytes that the encryption adds to a value."""

_PREFIX: Final = "strider-encrypted-v1"
_ENCRYPTED: Final = re.compile(rf"{_PREFIX} (?P<origins>[!-~]+) (?P<token>[A-Za-z0-9_-]+)")


class HeaderRefused(ValueError):
    """A header that may not be published or sent; the message names it, and never its value."""


@dataclass(frozen=True, slots=True)
class EncryptedValue:
    """The encrypted value of a personal header, and the origins that it was given for."""

    origins: tuple[str, ...]
    token: str

    def text(self) -> str:
        """Return it as the value of a header."""
        return f"{_PREFIX} {','.join(self.origins)} {self.token}"

    @property
    def clear_bytes(self) -> int:
        """Size of the value that is encrypted."""
        return max(0, len(self.token) * 3 // 4 - SYNTHETIC_IV_BYTES)


class ProtectHeaders(Protocol):
    """Encrypts the personal headers of a run for the origins that they were given for."""

    def __call__(self, headers: Mapping[str, str], origins: Iterable[str]) -> dict[str, str]:
        """Return the headers without a clear personal value; raises HeaderRefused."""


class DecryptHeader(Protocol):
    """Decrypts the value of a personal header for one origin."""

    def __call__(self, name: str, value: str, *, origin: str) -> str:
        """Return the clear value; a clear one is kept. Raises HeaderRefused."""


def parse_encrypted(value: str) -> EncryptedValue | None:
    """Parse the value of a header; None for a clear one."""
    match = _ENCRYPTED.fullmatch(value)
    return None if match is None else EncryptedValue(tuple(match["origins"].split(",")), match["token"])


def personal_headers(headers: Iterable[str]) -> list[str]:
    """Return the names of the personal headers."""
    return [name for name in headers if is_sensitive_header(name)]


def clear_size(value: str) -> int:
    """Return the size of a value as it is sent in a request."""
    encrypted = parse_encrypted(value)
    return len(value) if encrypted is None else encrypted.clear_bytes


def refuse_clear_values(headers: Mapping[str, str], origins: Iterable[str]) -> dict[str, str]:
    """Refuse what would have to be encrypted: the `ProtectHeaders` of a process without a key."""
    wanted = given_origins(origins)
    for name in personal_headers(headers):
        if not is_encrypted_for(name, headers[name], wanted):
            raise HeaderRefused(
                f"headers: {name} is published only encrypted, and {HEADERS_KEY_VARIABLE} is not set here; "
                "set the same key for the senders of seeds, link-ingestion and the fetcher"
            )
    return dict(headers)


def refuse_encrypted(name: str, value: str, *, origin: str) -> str:
    """Refuse an encrypted value: the `DecryptHeader` of a process without a key."""
    if parse_encrypted(value) is not None:
        raise HeaderRefused(f"{name} for {origin} is encrypted, and {HEADERS_KEY_VARIABLE} is not set")
    return value


def is_encrypted_for(name: str, value: str, origins: Sequence[str]) -> bool:
    """Whether a value is encrypted, for all of these origins; raises HeaderRefused for other ones."""
    encrypted = parse_encrypted(value)
    if encrypted is None:
        return False
    if missing := [origin for origin in origins if origin not in encrypted.origins]:
        given = ", ".join(encrypted.origins)
        raise HeaderRefused(
            f"headers: {name} is encrypted for {given:.200} and may not be sent to {missing[0]:.200}; give "
            "its clear value with this seed"
        )
    return True


def given_origins(origins: Iterable[str]) -> tuple[str, ...]:
    """Return origins sorted and without repeats, as they are encrypted; raises HeaderRefused if too many."""
    wanted = tuple(sorted(set(origins)))
    if len(wanted) > MAX_ORIGINS:
        raise HeaderRefused(
            f"headers: personal headers for {len(wanted)} origins, the limit is {MAX_ORIGINS}; crawl fewer "
            "sites at a time"
        )
    return wanted
