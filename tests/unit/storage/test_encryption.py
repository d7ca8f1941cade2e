"""Secrets at rest: unreadable without a key, and keys can be replaced."""

from __future__ import annotations

import pytest

from strider.messaging.errors import StartRefused
from strider.politeness.personal_headers import HeaderRefused, clear_size
from strider.politeness.request_headers import header_fault
from strider.storage.encryption import DecryptionFailed, HeaderCipher, SecretCipher, generate_key


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


A = "https://a.test"
B = "https://b.test"
FIRST_KEY, SECOND_KEY = "1" * 32, "2" * 32
SECRET = {"Authorization": "Bearer geheim", "Accept": "text/html"}


def test_personal_headers_are_encrypted_and_others_are_not() -> None:
    cipher = HeaderCipher(FIRST_KEY)
    protected = cipher.protect(SECRET, [A])

    assert protected["Accept"] == "text/html"
    assert "geheim" not in repr(protected)
    assert cipher.decrypt("Authorization", protected["Authorization"], origin=A) == "Bearer geheim"
    assert cipher.protect(protected, [A]) == protected
    assert clear_size(protected["Authorization"]) == len("Bearer geheim")
    assert header_fault(protected) == ""


def test_equal_headers_have_equal_encrypted_values_whatever_the_order_of_their_origins() -> None:
    assert HeaderCipher(FIRST_KEY).protect(SECRET, [A, B, A]) == HeaderCipher(FIRST_KEY).protect(
        SECRET, [B, A]
    )
    assert HeaderCipher(FIRST_KEY).protect(SECRET, [A]) != HeaderCipher(FIRST_KEY).protect(SECRET, [B])


@pytest.mark.fault("A7", part="encrypted for the origins that they were given for")
def test_an_encrypted_header_is_valid_for_its_own_origins_and_name_alone() -> None:
    cipher = HeaderCipher(FIRST_KEY)
    value = cipher.protect(SECRET, [A])["Authorization"]

    with pytest.raises(HeaderRefused, match=f"not given for {B}"):
        cipher.decrypt("Authorization", value, origin=B)
    with pytest.raises(HeaderRefused, match=r"not given for http://a\.test"):
        cipher.decrypt("Authorization", value, origin="http://a.test")
    with pytest.raises(HeaderRefused, match="was changed"):
        cipher.decrypt("Authorization", value.replace(A, f"{A},{B}"), origin=B)
    with pytest.raises(HeaderRefused, match="was changed"):
        cipher.decrypt("X-Token", value, origin=A)
    with pytest.raises(HeaderRefused, match=f"encrypted for {A} and may not be sent to {B}"):
        cipher.protect({"Authorization": value}, [B])


def test_the_key_of_headers_can_be_replaced() -> None:
    old = HeaderCipher(FIRST_KEY).protect(SECRET, [A])["Authorization"]
    both = HeaderCipher(f"{SECOND_KEY}, {FIRST_KEY}")

    assert both.decrypt("Authorization", old, origin=A) == "Bearer geheim"
    new = both.protect(SECRET, [A])["Authorization"]
    assert new != old
    assert HeaderCipher(SECOND_KEY).decrypt("Authorization", new, origin=A) == "Bearer geheim"
    with pytest.raises(HeaderRefused, match="STRIDER_HEADERS_KEY"):
        HeaderCipher(SECOND_KEY).decrypt("Authorization", old, origin=A)
    with pytest.raises(HeaderRefused, match="encrypted with another key"):
        HeaderCipher(SECOND_KEY).protect({"Authorization": old}, [A])


def test_without_a_key_clear_personal_headers_are_refused_by_name() -> None:
    none = HeaderCipher("")
    with pytest.raises(HeaderRefused, match=r"headers: Authorization .* STRIDER_HEADERS_KEY") as refused:
        none.protect(SECRET, [A])
    assert "geheim" not in str(refused.value)

    value = HeaderCipher(FIRST_KEY).protect(SECRET, [A])["Authorization"]
    assert none.protect({"Authorization": value}, [A]) == {"Authorization": value}
    with pytest.raises(HeaderRefused, match="is not set"):
        none.decrypt("Authorization", value, origin=A)


@pytest.mark.parametrize("token", ["A", "AAAA", "x" * 400])
def test_what_is_no_ciphertext_is_refused(token: str) -> None:
    value = f"strider-encrypted-v1 {A} {token}"
    with pytest.raises(HeaderRefused):
        HeaderCipher(FIRST_KEY).decrypt("Authorization", value, origin=A)


def test_headers_are_for_a_limited_number_of_origins() -> None:
    with pytest.raises(HeaderRefused, match="for 33 origins, the limit is 32"):
        HeaderCipher(FIRST_KEY).protect(SECRET, [f"https://{n}.test" for n in range(33)])
