"""What holds for every text, whatever it is."""

from __future__ import annotations

import ada_url
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strider.urls import (
    DETAILS,
    REASONS,
    KeyRules,
    Refused,
    as_found,
    host,
    host_kind,
    key,
    key_of,
    links,
    origin,
)

from .texts import ABSOLUTE, TEXTS

MANY = settings(max_examples=150, deadline=None)
RULES = st.builds(KeyRules, drop_trailing_slash=st.booleans())
BASES = st.one_of(
    st.none(), st.sampled_from(["https://example.org/a/b?x#f", "http://[", "data:,x", ""]), TEXTS
)


@MANY
@given(TEXTS, BASES)
def test_as_found_is_its_own_form(text: str, base: str | None) -> None:
    """What was found is found again from an event, and must not change on the way round the ring."""
    found = as_found(text, base)
    if isinstance(found, Refused):
        assert found.reason in REASONS
        assert found.detail in DETAILS
    else:
        assert as_found(found) == found
        assert found.isascii()
        assert "#" not in found
        assert "@" not in found[: found.index("/", 8)]


@MANY
@given(TEXTS, RULES)
def test_a_key_is_its_own_key(text: str, rules: KeyRules) -> None:
    """Otherwise a replay would make a second entry out of the first."""
    first = key(text, "https://example.org/a/b", rules=rules)

    if not isinstance(first, Refused):
        assert key(first, rules=rules) in (first, Refused("url_too_long"))


@MANY
@given(TEXTS, RULES)
def test_the_key_follows_from_the_url_as_found(text: str, rules: KeyRules) -> None:
    """Events carry the URL as found: whoever has it can tell the key."""
    found = as_found(text)

    assert key(text, rules=rules) == (found if isinstance(found, Refused) else key_of(found, rules=rules))


@MANY
@given(ABSOLUTE)
def test_a_key_keeps_host_and_origin(text: str) -> None:
    """Two URLs of one entry must never belong to two owners."""
    found = as_found(text)
    if isinstance(found, Refused):
        return

    assert host(key_of(found)) == host(found)
    assert origin(key_of(found)) == origin(found)


@MANY
@given(BASES.filter(lambda base: base is not None), st.lists(TEXTS, max_size=8), RULES, st.booleans())
def test_the_batch_says_what_one_by_one_says(
    base: str, hrefs: list[str], rules: KeyRules, allow_private: bool
) -> None:
    """The batch is made of short cuts, which begin where something is met again; none may lead elsewhere."""
    hrefs = hrefs * 2
    batch = links(base, hrefs, allow_private=allow_private, rules=rules)

    for href, *got in zip(hrefs, *batch, strict=True):
        assert got == _one(href, base, rules=rules, allow_private=allow_private)


def _one(href: str, base: str, *, rules: KeyRules, allow_private: bool) -> list[str]:
    found = as_found(href, base)
    if isinstance(found, Refused):
        return ["", "", "", found.reason, found.detail]
    kind = host_kind(host(found))
    if kind == "metadata" or (kind == "private" and not allow_private):
        return ["", "", "", "policy_blocked", f"{kind}_address"]
    return [found, key_of(found, rules=rules), host(found), "", ""]


@MANY
@given(st.lists(TEXTS, max_size=6), st.booleans(), RULES)
def test_links_that_are_as_found_need_no_page(texts: list[str], allow_private: bool, rules: KeyRules) -> None:
    """What travelled in an event is looked at again, and must come out the same by the short cut."""
    found = [url for text in texts if not isinstance(url := as_found(text, "https://example.org/"), Refused)]
    found += found[::-1]

    by_page = links("https://page.test/", found, allow_private=allow_private, rules=rules)
    assert links(None, found, allow_private=allow_private, rules=rules) == by_page
    assert [url for url in by_page.urls if url] == [
        url for url, reason in zip(found, by_page.reasons, strict=True) if not reason
    ]


@MANY
@given(ABSOLUTE)
def test_a_second_parser_reads_the_same_host(text: str) -> None:
    """One view of the host everywhere: guards are evaded where two parsers disagree."""
    found = as_found(text)
    if isinstance(found, Refused):
        return

    second = ada_url.URL(found)
    assert second.href == found
    assert second.hostname.removesuffix(".") == host(found)


@pytest.mark.req("S3.10.7")
@given(st.text(alphabet="abcXYZ019-._~", min_size=1, max_size=8), st.data())
def test_escapes_that_need_not_be_are_no_difference(word: str, data: st.DataObject) -> None:
    """RFC 3986: an escaped letter is the letter."""
    spelt = "".join(f"%{ord(letter):02x}" if data.draw(st.booleans()) else letter for letter in word)

    assert key(f"http://a.test/x{spelt}?y{spelt}") == key(f"http://a.test/x{word}?y{word}")
