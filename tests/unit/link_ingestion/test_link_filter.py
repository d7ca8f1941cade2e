"""Verdicts are given once and remembered: the same ones, and a bounded number of them."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strider.link_ingestion.core import LinkFilters, admit_links
from strider.urls import url_hash, url_key_of
from tests.unit.urls.link_texts import TEXTS

from .builders import a_page, a_spec, numbered, some_rules, taken


@given(st.lists(TEXTS | st.sampled_from(numbered(4)), max_size=12), st.randoms(use_true_random=False))
def test_a_cached_verdict_equals_a_computed_one(texts: list[str], random: Random) -> None:
    """A page must not be judged by who came before it."""
    rules, grounds = some_rules(scope="domain"), LinkFilters(allow_private=False)
    first = admit_links(a_page(*texts), grounds.filter_for("https://www.a.test/", rules), listed=99)
    random.shuffle(others := [*texts, *numbered(6)])
    admit_links(a_page(*others), grounds.filter_for("https://www.a.test/", rules), listed=99)

    assert admit_links(a_page(*texts), grounds.filter_for("https://www.a.test/", rules), listed=99) == first


def test_hosts_and_specs_have_caches_of_their_own() -> None:
    """The same link is at home on one host and far from another."""
    grounds, rules = LinkFilters(allow_private=False), some_rules()
    link = "https://www.a.test/x"

    def on(host: str, **spec: str) -> list[str]:
        page = a_page(link, url=f"https://{host}/")
        return taken(
            admit_links(page, grounds.filter_for(page.url, some_rules(**spec) if spec else rules), listed=9)
        )

    assert [on("www.a.test"), on("b.test"), on("b.test", scope="any"), on("b.test")] == [
        [link],
        [],
        [link],
        [],
    ]


def test_the_cache_is_bounded() -> None:
    """A crawl of a million hosts meets a billion links."""
    grounds, rules = LinkFilters(allow_private=False, max_verdicts=1_000), some_rules()
    most = 0
    for number in range(200):
        host = f"h{number}.test"
        page = a_page(*numbered(50, host), url=f"https://{host}/", crawl_spec_id=a_spec().crawl_spec_id)
        admit_links(page, grounds.filter_for(page.url, rules), listed=9)
        most = max(most, sum(len(each._verdicts) for each in grounds._by_host.values()))

    assert 900 < most <= 1_000 + 50


def test_what_a_url_is_is_found_out_once_for_all_hosts() -> None:
    """Thousands of sites link to the same few; whether they may is each one's own matter."""
    grounds, rules = LinkFilters(allow_private=False), some_rules(scope="any")
    link = "https://www.a.test/x"

    first, second = (
        grounds.filter_for(f"https://{host}/", rules).judge_wire_urls([link])[0]
        for host in ("b.test", "c.test")
    )
    at_home = grounds.filter_for("https://d.test/", some_rules()).judge_wire_urls([link])[0]

    assert first is second
    assert at_home == first._replace(reason="out_of_scope", detail="www.a.test")


@pytest.mark.parametrize(
    ("scope", "homes"),
    [
        pytest.param("host", 3, id="a host's own"),
        pytest.param("domain", 2, id="a domain's"),
        pytest.param("any", 1, id="everybody's"),
    ],
)
def test_hosts_with_the_same_verdicts_share_a_cache(scope: str, homes: int) -> None:
    """A crawl of many small sites would else judge the same links again on each of them."""
    grounds, rules = LinkFilters(allow_private=False), some_rules(scope=scope)

    found = {id(grounds.filter_for(f"https://{host}/", rules)) for host in ("a.b.test", "c.b.test", "d.test")}

    assert len(found) == homes


def test_a_forbidden_place_is_known_by_its_key() -> None:
    """Its URL is the key by which an operator searches for the reason."""
    grounds = LinkFilters(allow_private=True)

    [vault, odd] = grounds.filter_for("https://site.test/", some_rules()).judge_wire_urls(
        ["http://169.254.169.254/latest", "http://a..b/"]
    )

    assert (vault.url, vault.reason, vault.detail) == (
        "http://169.254.169.254/latest",
        "policy_blocked",
        "metadata_address",
    )
    assert vault.key == url_hash(url_key_of(vault.url))
    assert (odd.key, odd.reason) == ("", "bad_url")
