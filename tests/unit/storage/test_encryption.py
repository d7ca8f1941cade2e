"""Secrets at rest: unreadable without a key, and keys can be replaced."""

from __future__ import annotations

import pytest

from strider.messaging.errors import StartRefused
from strider.storage.encryption import DecryptionFailed, SecretCipher, generate_key


@pytest.mark.req("S4.12.30")
def test_what_is_sealed_is_opened_by_its_key_alone() -> None:
    first, second = generate_key(), generate_key()
    sealed = SecretCipher(first).encrypt("geheim ☃")

    assert "geheim" not in sealed
    assert SecretCipher(f"{second}, {first}").decrypt(sealed) == "geheim ☃"
    with pytest.raises(DecryptionFailed):
        SecretCipher(second).decrypt(sealed)
    with pytest.raises(DecryptionFailed):
        SecretCipher("").decrypt(sealed)
    with pytest.raises(DecryptionFailed):
        SecretCipher(first).decrypt(f"{sealed[:-2]}x=")


def test_nothing_is_stored_unencrypted_without_a_key() -> None:
    assert (SecretCipher("").encrypt(""), SecretCipher("").decrypt("")) == ("", "")
    with pytest.raises(StartRefused, match="CRAWLER_PROXY_KEY"):
        SecretCipher("").encrypt("geheim")
    with pytest.raises(StartRefused, match="strider proxies key"):
        SecretCipher("too short")
