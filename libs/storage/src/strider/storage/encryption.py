"""Secrets at rest: sealed with a key from the environment, opened by whoever has it.

Authenticated encryption (Fernet). Of several keys the first seals and each opens, so that a key can be
replaced: put the new one first, seal anew, drop the old one.
"""

from __future__ import annotations

import re

from cryptography.fernet import Fernet, InvalidToken, MultiFernet

from strider.runtime.errors import StartRefused


class DecryptionFailed(Exception):
    """A secret that none of the keys opens."""


class SecretCipher:
    """Seals and opens secrets."""

    def __init__(self, keys: str) -> None:
        """Keys parted by commas or blanks, or none; StartRefused where one is no key."""
        words = [word for word in re.split(r"[,\s]+", keys.strip()) if word]
        try:
            self._fernet = MultiFernet([Fernet(word) for word in words]) if words else None
        except ValueError as error:
            raise StartRefused("a key is 32 random bytes in URL-safe base64: strider proxies key") from error

    def encrypt(self, secret: str) -> str:
        """Seal a secret; an empty one needs no seal. StartRefused without a key."""
        if not secret:
            return ""
        if self._fernet is None:
            raise StartRefused("a password is kept sealed only: set CRAWLER_PROXY_KEY")
        return self._fernet.encrypt(secret.encode()).decode("ascii")

    def decrypt(self, encrypted: str) -> str:
        """Open a secret; Unsealable where no key fits."""
        if not encrypted:
            return ""
        if self._fernet is None:
            raise DecryptionFailed("CRAWLER_PROXY_KEY is not set")
        try:
            return self._fernet.decrypt(encrypted.encode()).decode()
        except InvalidToken:
            raise DecryptionFailed("CRAWLER_PROXY_KEY does not open it") from None


def generate_key() -> str:
    """Make a key."""
    return Fernet.generate_key().decode("ascii")
