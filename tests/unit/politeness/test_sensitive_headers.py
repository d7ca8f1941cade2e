"""Sensitive headers are recognized by name."""

from __future__ import annotations

import pytest

from strider.politeness import is_sensitive_header

PERSONAL = (
    "Authorization cookie X-Api-Key apikey X-Auth Private-Token X-Access-Token X-Amz-Security-Token "
    "X-CSRF-Token Ocp-Apim-Subscription-Key X-Session-Id X-Secret X-Password X-Signature api_key"
)
IMPERSONAL = "Accept Accept-Language DNT Referer Cache-Control X-Requested-With X-Keyword Sec-Fetch-Mode"


@pytest.mark.parametrize(
    ("name", "expected"),
    [*((name, True) for name in PERSONAL.split()), *((name, False) for name in IMPERSONAL.split())],
)
def test_what_is_a_key_by_its_name_is_for_one_site(name: str, expected: bool) -> None:
    """Services have many names for credentials."""
    assert is_sensitive_header(name) is expected
