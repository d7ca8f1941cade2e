"""Encryption of secrets that are stored or published, with keys from the environment.

Authenticated encryption. Of several keys the first encrypts and each decrypts, so that a key can be replaced:
put the new one first, encrypt again, drop the old one. Stored secrets are encrypted with Fernet, personal
headers with AES-SIV, which is deterministic: equal crawl specs must have equal ids.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import re
from collections.abc import Iterable, Mapping
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.ciphers.aead import AESSIV

from strider.messaging.errors import StartRefused
from strider.politeness.personal_headers import (
    HEADERS_KEY_VARIABLE,
    EncryptedValue,
    HeaderRefused,
    given_origins,
    is_encrypted_for,
    parse_encrypted,
    personal_headers,
    refuse_clear_values,
)

_DERIVATION: Final = b"strider personal headers v1"
"""Separates the key of the cipher from other uses of the same secret."""


class DecryptionFailed(Exception):
    """A secret that none of the keys decrypts."""


class SecretCipher:
    """Encrypts and decrypts secrets."""

    def __init__(self, keys: str) -> None:
        """Take keys separated by commas or blanks, or none; StartRefused for an invalid key."""
        words = _split_keys(keys)
        try:
            self._fernet = MultiFernet([Fernet(word) for word in words]) if words else None
        except ValueError as error:
            raise StartRefused(
                "CRAWLER_PROXY_KEY must be 32 random bytes in URL-safe base64: strider proxies key"
            ) from error

    def encrypt(self, secret: str) -> str:
        """Encrypt a secret; an empty one stays empty. StartRefused without a key."""
        if not secret:
            return ""
        if self._fernet is None:
            raise StartRefused("a password is stored only encrypted: set CRAWLER_PROXY_KEY")
        return self._fernet.encrypt(secret.encode()).decode("ascii")

    def decrypt(self, encrypted: str) -> str:
        """Decrypt a secret; DecryptionFailed where no key fits."""
        if not encrypted:
            return ""
        if self._fernet is None:
            raise DecryptionFailed("CRAWLER_PROXY_KEY is not set")
        try:
            return self._fernet.decrypt(encrypted.encode()).decode()
        except InvalidToken:
            raise DecryptionFailed("CRAWLER_PROXY_KEY does not decrypt it") from None


class HeaderCipher:
    """Encrypts personal headers for the origins that they were given for, and decrypts them for one."""

    def __init__(self, keys: str) -> None:
        """Take keys separated by commas or blanks, or none."""
        self._ciphers = [AESSIV(_cipher_key(word)) for word in _split_keys(keys)]

    def protect(self, headers: Mapping[str, str], origins: Iterable[str]) -> dict[str, str]:
        """Return headers with each personal value encrypted for the origins; raises HeaderRefused.

        A value that is encrypted already must be for these origins, and one of the keys must fit.
        """
        if not self._ciphers:
            return refuse_clear_values(headers, origins)
        wanted = given_origins(origins)
        protected = dict(headers)
        for name in personal_headers(headers):
            if not is_encrypted_for(name, headers[name], wanted):
                protected[name] = self._encrypt(name, headers[name], wanted)
                continue
            try:
                self.decrypt(name, headers[name], origin=wanted[0])
            except HeaderRefused as failure:
                raise HeaderRefused(f"headers: {failure}") from None
        return protected

    def decrypt(self, name: str, value: str, *, origin: str) -> str:
        """Return the clear value of a header for one origin; raises HeaderRefused. A clear one is kept."""
        encrypted = parse_encrypted(value)
        if encrypted is None:
            return value
        if origin not in encrypted.origins:
            raise HeaderRefused(f"{name} is not given for {origin}")
        if not self._ciphers:
            raise HeaderRefused(f"{name} is encrypted, and {HEADERS_KEY_VARIABLE} is not set")
        for cipher in self._ciphers:
            try:
                return cipher.decrypt(
                    _token_bytes(encrypted.token), _context(name, encrypted.origins)
                ).decode()
            except (InvalidTag, ValueError):  # another key's, or no ciphertext at all
                continue
        raise HeaderRefused(
            f"{name} is encrypted with another key than those of {HEADERS_KEY_VARIABLE}, or was changed"
        )

    def _encrypt(self, name: str, value: str, origins: tuple[str, ...]) -> str:
        data = self._ciphers[0].encrypt(value.encode(), _context(name, origins))
        token = base64.urlsafe_b64encode(data).decode("ascii").rstrip("=")
        return EncryptedValue(origins, token).text()


def _split_keys(keys: str) -> list[str]:
    return [word for word in re.split(r"[,\s]+", keys.strip()) if word]


def _cipher_key(key: str) -> bytes:
    """Return a key of 64 bytes, for AES-256-SIV."""
    return hmac.digest(key.encode(), _DERIVATION, "sha512")


def _context(name: str, origins: tuple[str, ...]) -> list[bytes]:
    """Return what is authenticated with a value, so that it is valid for no other header and origin."""
    return [name.lower().encode(), ",".join(origins).encode()]


def _token_bytes(token: str) -> bytes:
    try:
        return base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
    except binascii.Error as error:
        raise ValueError("not Base64") from error


def generate_key() -> str:
    """Return a new key."""
    return Fernet.generate_key().decode("ascii")
