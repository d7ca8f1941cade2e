"""Properties that hold for every text."""

from __future__ import annotations

import ada_url
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strider.urls import (
    REFUSAL_DETAILS,
    REFUSAL_REASONS,
    RefusedUrl,
    UrlKeyRules,
    host_kind,
    host_of,
    origin_of,
    resolve_links,
    to_wire_url,
    url_key_of,
    url_key_of_text,
)

from .link_texts import ABSOLUTE, TEXTS

MANY = settings(max_examples=150, deadline=None)
RULES = st.builds(UrlKeyRules, drop_trailing_slash=st.booleans())
BASES = st.one_of(
    st.none(), st.sampled_from(["https://example.org/a/b?x#f", "http://[", "data:,x", ""]), TEXTS
)


@MANY
@given(TEXTS, BASES)
def test_as_found_is_its_own_form(text: str, base: str | None) -> None:
    """A wire URL taken from an event must not change when it is resolved again."""
    found = to_wire_url(text, base)
    if isinstance(found, RefusedUrl):
        assert found.reason in REFUSAL_REASONS
        assert found.detail in REFUSAL_DETAILS
    else:
        assert to_wire_url(found) == found
        assert found.isascii()
        assert "#" not in found
        assert "@" not in found[: found.index("/", 8)]


@MANY
@given(TEXTS, RULES)
def test_a_key_is_its_own_key(text: str, rules: UrlKeyRules) -> None:
    """Otherwise a replay would make a second entry of the same URL."""
    first = url_key_of_text(text, "https://example.org/a/b", rules=rules)

    if not isinstance(first, RefusedUrl):
        assert url_key_of_text(first, rules=rules) in (first, RefusedUrl("url_too_long"))


@MANY
@given(TEXTS, RULES)
def test_the_key_follows_from_the_url_as_found(text: str, rules: UrlKeyRules) -> None:
    """Events carry the wire URL, from which every consumer can compute the key."""
    found = to_wire_url(text)

    assert url_key_of_text(text, rules=rules) == (
        found if isinstance(found, RefusedUrl) else url_key_of(found, rules=rules)
    )


@MANY
@given(ABSOLUTE)
def test_a_key_keeps_host_and_origin(text: str) -> None:
    """Two URLs of one entry must never belong to two owners."""
    found = to_wire_url(text)
    if isinstance(found, RefusedUrl):
        return

    assert host_of(url_key_of(found)) == host_of(found)
    assert origin_of(url_key_of(found)) == origin_of(found)


@MANY
@given(BASES.filter(lambda base: base is not None), st.lists(TEXTS, max_size=8), RULES, st.booleans())
def test_a_batch_has_the_same_results_as_single_calls(
    base: str, hrefs: list[str], rules: UrlKeyRules, allow_private: bool
) -> None:
    """The batch uses caches from the second occurrence on; none may change a result."""
    hrefs = hrefs * 2
    batch = resolve_links(base, hrefs, allow_private=allow_private, rules=rules)

    for href, *got in zip(hrefs, *batch, strict=True):
        assert got == _one(href, base, rules=rules, allow_private=allow_private)


def _one(href: str, base: str, *, rules: UrlKeyRules, allow_private: bool) -> list[str]:
    found = to_wire_url(href, base)
    if isinstance(found, RefusedUrl):
        return ["", "", "", found.reason, found.detail]
    kind = host_kind(host_of(found))
    if kind == "metadata" or (kind == "private" and not allow_private):
        return ["", "", "", "policy_blocked", f"{kind}_address"]
    return [found, url_key_of(found, rules=rules), host_of(found), "", ""]


@MANY
@given(st.lists(TEXTS, max_size=6), st.booleans(), RULES)
def test_links_that_are_as_found_need_no_page(
    texts: list[str], allow_private: bool, rules: UrlKeyRules
) -> None:
    """URLs from events are resolved again, and must not change by the shortcut."""
    found = [
        url for text in texts if not isinstance(url := to_wire_url(text, "https://example.org/"), RefusedUrl)
    ]
    found += found[::-1]

    by_page = resolve_links("https://page.test/", found, allow_private=allow_private, rules=rules)
    assert resolve_links(None, found, allow_private=allow_private, rules=rules) == by_page
    assert [url for url in by_page.urls if url] == [
        url for url, reason in zip(found, by_page.reasons, strict=True) if not reason
    ]


@pytest.mark.fault("S3")
@MANY
@given(ABSOLUTE)
def test_a_second_parser_reads_the_same_host(text: str) -> None:
    """One view of the host everywhere: guards are evaded where two parsers disagree."""
    found = to_wire_url(text)
    if isinstance(found, RefusedUrl):
        return

    second = ada_url.URL(found)
    assert second.href == found
    assert second.hostname.removesuffix(".") == host_of(found)


@pytest.mark.req("S3.10.7")
@given(st.text(alphabet="abcXYZ019-._~", min_size=1, max_size=8), st.data())
def test_escapes_that_need_not_be_are_no_difference(word: str, data: st.DataObject) -> None:
    """RFC 3986: an escaped letter is the letter."""
    spelt = "".join(f"%{ord(letter):02x}" if data.draw(st.booleans()) else letter for letter in word)

    assert url_key_of_text(f"http://a.test/x{spelt}?y{spelt}") == url_key_of_text(
        f"http://a.test/x{word}?y{word}"
    )
