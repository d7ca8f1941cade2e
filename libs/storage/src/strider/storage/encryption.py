"""Encryption of stored secrets, with keys from the environment.

Authenticated encryption (Fernet). Of several keys the first encrypts and each decrypts, so that a key can be
replaced: put the new one first, encrypt again, drop the old one.
"""

from __future__ import annotations

import re

from cryptography.fernet import Fernet, InvalidToken, MultiFernet

from strider.messaging.errors import StartRefused


class DecryptionFailed(Exception):
    """A secret that none of the keys decrypts."""


class SecretCipher:
    """Encrypts and decrypts secrets."""

    def __init__(self, keys: str) -> None:
        """Take keys separated by commas or blanks, or none; StartRefused for an invalid key."""
        words = [word for word in re.split(r"[,\s]+", keys.strip()) if word]
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


def generate_key() -> str:
    """Return a new key."""
    return Fernet.generate_key().decode("ascii")
