"""Signatures of seeds: who counts as an owner, and what is refused."""

from __future__ import annotations

import hashlib
import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strider.contracts.owner_signature import (
    SIGNATURE_NAME,
    InvalidSignature,
    SenderRole,
    identify_sender,
    sign_value,
)

KEY = "a" * 32
OTHER_KEY = "b" * 32
VALUE = b'{"url": "https://example.org/"}'


def test_a_signature_is_the_hmac_of_the_value_that_any_library_makes() -> None:
    """A client in another language needs nothing but this line."""
    expected = "v1=" + hmac.new(KEY.encode(), VALUE, hashlib.sha256).hexdigest()

    assert sign_value(VALUE, KEY) == ("owner-signature", expected.encode())


@given(st.binary(), st.text(min_size=32, max_size=40))
def test_a_signed_value_is_an_owners(value: bytes, key: str) -> None:
    assert (
        identify_sender(value, [("traceparent", b"x"), sign_value(value, key)], key=key) == SenderRole.OWNER
    )


@given(st.binary(), st.sampled_from(["", KEY]))
def test_a_message_without_a_signature_is_raw(value: bytes, key: str) -> None:
    assert identify_sender(value, [("ce_id", b"1"), ("replay-id", None)], key=key) == SenderRole.RAW


@given(st.binary(), st.binary())
def test_no_bytes_in_the_header_make_a_stranger_an_owner(value: bytes, content: bytes) -> None:
    """Without the key a signature is never raw and never an owner's: it is refused."""
    assert isinstance(identify_sender(value, [(SIGNATURE_NAME, content)], key=KEY), InvalidSignature)


@given(st.binary(min_size=1), st.data())
def test_a_changed_value_is_refused(value: bytes, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(value) - 1))
    changed = value[:at] + bytes([value[at] ^ 1]) + value[at + 1 :]

    assert isinstance(identify_sender(changed, [sign_value(value, KEY)], key=KEY), InvalidSignature)


@pytest.mark.parametrize(
    ("headers", "key", "detail"),
    [
        pytest.param(
            [sign_value(VALUE, OTHER_KEY)],
            KEY,
            "owner-signature: does not match the value; the sender's STRIDER_OWNER_KEY differs from that of "
            "link-ingestion, or the message was changed after it was signed",
            id="another-key",
        ),
        pytest.param(
            [sign_value(VALUE, KEY)],
            "",
            "owner-signature: cannot be verified, because link-ingestion has no STRIDER_OWNER_KEY; set it "
            "there, or send the seed without a signature",
            id="no-key-to-verify-with",
        ),
        pytest.param(
            [sign_value(VALUE, KEY), sign_value(VALUE, KEY)],
            KEY,
            "owner-signature: the header is given 2 times, expected once",
            id="twice",
        ),
        pytest.param(
            [(SIGNATURE_NAME, b"v2=00")],
            KEY,
            "owner-signature: 'v2=00' is not v1= and the 64 lower-case hex digits of an HMAC-SHA256",
            id="another-version",
        ),
        pytest.param(
            [(SIGNATURE_NAME, None)],
            KEY,
            "owner-signature: '' is not v1= and the 64 lower-case hex digits of an HMAC-SHA256",
            id="empty",
        ),
    ],
)
def test_the_refusal_of_an_invalid_signature_names_its_cause(
    headers: list[tuple[str, bytes | None]], key: str, detail: str
) -> None:
    assert identify_sender(VALUE, headers, key=key) == InvalidSignature(detail)
