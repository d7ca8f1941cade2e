"""Phrases that identify block pages, and pages that only mention them."""

from __future__ import annotations

import pytest

from strider.contracts.generated.enums import RejectionReason
from strider.validator.core import SIGNATURES, find_signature
from strider.validator.core.block_page_signatures import NOSCRIPT, TEXT, TITLE, SignatureMatch


def find(text: str = "", *, title: str = "", noscript: str = "", text_chars: int | None = None) -> str:
    length = len(text) if text_chars is None else text_chars
    found = find_signature(title=title, text=text, noscript=noscript, text_chars=length)
    return "" if found is None else found.reason


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        pytest.param({"text": "CHECKING YOUR BROWSER before …"}, "challenge_page", id="challenge"),
        pytest.param({"title": "Just a moment…"}, "challenge_page", id="ellipsis"),
        pytest.param({"title": "Attention Required! | Cloudflare"}, "challenge_page", id="title"),
        pytest.param({"text": "Tick I’m not a robot"}, "captcha", id="curly-apostrophe"),
        pytest.param({"text": "You don’t have permission to access /x"}, "access_denied", id="denied"),
        pytest.param({"text": "Error 403"}, "forbidden", id="forbidden"),
        pytest.param({"text": "This app requires JavaScript."}, "javascript_required", id="javascript"),
        pytest.param(
            {"noscript": "You need to enable JavaScript to run this app."},
            "javascript_required",
            id="noscript",
        ),
        pytest.param({"text": "Oops", "title": "Page not found | Site"}, "soft_not_found", id="soft-404"),
        pytest.param(
            {"title": "Seite nicht gefunden", "text_chars": 4_000}, "soft_not_found", id="soft-404-with-menu"
        ),
        pytest.param({"text": "Error establishing a database connection"}, "error_page", id="error-page"),
        pytest.param({"text": "This domain is for sale! Buy this domain"}, "parked_domain", id="parked"),
        pytest.param({"title": "Welcome to nginx!"}, "parked_domain", id="default-page"),
        pytest.param({"text": "Please log in to continue."}, "login_wall", id="login"),
        pytest.param({"text": "Subscribe to continue reading"}, "paywall", id="paywall"),
        pytest.param({"title": "Before you continue to Site"}, "consent_wall", id="consent"),
        pytest.param(
            {"text": "Checking your browser. Please enable JavaScript and cookies."},
            "challenge_page",
            id="challenge-first",
        ),
        pytest.param({"text": "A recipe for soup."}, "", id="content"),
        pytest.param({}, "", id="nothing"),
    ],
)
def test_a_phrase_on_a_short_page_matches(said: dict[str, str], reason: str) -> None:
    assert find(**said) == reason  # type: ignore[arg-type]  # a table of keyword arguments


@pytest.mark.parametrize(
    "text",
    [
        "How to fix an Access Denied error. ",
        "What 403 Forbidden means. ",
        "Checking your browser is a habit of some sites. ",
        "Please enable JavaScript, they say. ",
        "Page not found: a history of error 404. ",
    ],
)
def test_a_phrase_on_a_long_page_does_not_match(text: str) -> None:
    assert find(text * 200) == ""


def test_a_noscript_hint_on_a_page_with_text_does_not_match() -> None:
    """Most pages have one."""
    assert find("Some three hundred characters of text. " * 8, noscript="Please enable JavaScript.") == ""


def test_a_match_names_its_location() -> None:
    found = find_signature(title="", text="Sorry, you have been blocked", noscript="", text_chars=28)

    assert found == SignatureMatch("access_denied", "you have been blocked", "text")


@pytest.mark.req("S2.4.14", part="a table of phrases that a test checks; not a setting")
def test_the_table_is_in_order() -> None:
    """A phrase with a capital letter would never match, and a reason must be a listed word."""
    for signature in SIGNATURES:
        assert signature.reason in set(RejectionReason)
        assert set(signature.places) <= {TITLE, TEXT, NOSCRIPT}
        assert all(phrase == phrase.lower().strip() and len(phrase) >= 8 for phrase in signature.phrases)
        assert not any("’" in phrase or "\xa0" in phrase for phrase in signature.phrases)


def test_no_phrase_stands_twice_in_one_place() -> None:
    places = [
        (place, phrase)
        for signature in SIGNATURES
        for place in signature.places
        for phrase in signature.phrases
        if signature.reason != "soft_not_found"
    ]

    assert len(places) == len(set(places))
