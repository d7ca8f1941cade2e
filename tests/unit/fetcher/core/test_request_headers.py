"""Request headers, and URLs that are refused."""

from __future__ import annotations

from typing import Any

import pytest

from strider.fetcher.core import (
    AddressPolicy,
    CrawlerIdentity,
    build_identity,
    build_request_headers,
    select_user_agent,
    url_refusal,
)
from tests.unit.fetcher.builders import a_request

US = build_identity(version="1.0", contact="bot@example.org")


@pytest.mark.req("S3.7.8", "S3.17.1")
@pytest.mark.parametrize(
    ("told", "identity"),
    [
        pytest.param(
            {"contact": "https://example.org/bot"},
            CrawlerIdentity("Strider/1.0 (+https://example.org/bot)"),
            id="url",
        ),
        pytest.param(
            {"contact": "mailto:bot@example.org"},
            CrawlerIdentity("Strider/1.0 (+bot@example.org)", "bot@example.org"),
            id="mail",
        ),
        pytest.param({"contact": ""}, CrawlerIdentity("Strider/1.0"), id="none"),
        pytest.param(
            {"contact": "bot@example.org", "user_agent": "Mine/2"},
            CrawlerIdentity("Mine/2", "bot@example.org"),
            id="own",
        ),
    ],
)
def test_the_user_agent_names_product_and_contact(told: dict[str, str], identity: CrawlerIdentity) -> None:
    assert build_identity(version="1.0", **told) == identity


@pytest.mark.req("S3.7.9")
@pytest.mark.parametrize(
    ("kind", "accept"),
    [
        pytest.param("page", "text/html,application/xhtml+xml,*/*;q=0.5", id="page"),
        pytest.param("robots", "text/plain,*/*;q=0.5", id="robots"),
        pytest.param("sitemap", "application/xml,text/xml,*/*;q=0.5", id="sitemap"),
        pytest.param("pagination", "text/html,application/xhtml+xml,*/*;q=0.5", id="guess"),
    ],
)
def test_each_kind_accepts_its_own_types(kind: str, accept: str) -> None:
    assert build_request_headers(a_request(kind=kind), US) == [
        ("User-Agent", "Strider/1.0 (+bot@example.org)"),
        ("Accept", accept),
        ("Accept-Encoding", "gzip, deflate"),
        ("From", "bot@example.org"),
    ]


@pytest.mark.parametrize(
    ("name", "value", "added"),
    [
        pytest.param("Accept-Language", "de", True, id="plain"),
        pytest.param("X-Key", "caf\xe9\tx", True, id="beyond-ascii"),
        pytest.param("Host", "evil.test", False, id="host"),
        pytest.param("accept-encoding", "zstd", False, id="encodings"),
        pytest.param("Transfer-Encoding", "chunked", False, id="framing"),
        pytest.param("User-Agent", "Mozilla", False, id="agent-has-a-field-of-its-own"),
        pytest.param("X", "a\r\nY: b", False, id="two-lines"),
        pytest.param("X", "a\x00", False, id="nul"),
        pytest.param("X Y", "a", False, id="blank-in-name"),
        pytest.param("", "a", False, id="no-name"),
    ],
)
def test_a_run_may_add_headers_that_are_not_reserved(name: str, value: str, added: bool) -> None:
    sent = build_request_headers(a_request(header_names=(name,), header_values=(value,)), US)

    assert ((name, value) in sent) == added
    assert len(sent) == 4 + added


def test_a_run_may_replace_accept() -> None:
    sent = build_request_headers(a_request(header_names=("accept",), header_values=("application/pdf",)), US)

    assert sent[1] == ("accept", "application/pdf")
    assert len(sent) == 4


@pytest.mark.parametrize("is_foreign", [False, True])
def test_personal_headers_do_not_cross_origins(is_foreign: bool) -> None:
    wanted = a_request(
        etag='"v"',
        last_modified="x",
        header_names=("Authorization", "Cookie", "X"),
        header_values=("secret", "a=b", "y"),
    )

    names = {name for name, _ in build_request_headers(wanted, US, is_cross_origin=is_foreign)}

    personal = {"Authorization", "Cookie", "If-None-Match", "If-Modified-Since"}
    assert names & personal == (set() if is_foreign else personal)
    assert "X" in names


def test_values_with_control_characters_are_not_sent() -> None:
    """Validators come from servers, and User-Agents from seeds."""
    sent = dict(
        build_request_headers(a_request(etag='"a\r\nX: y"', last_modified="b\n", user_agent="a\r\nb"), US)
    )

    assert sent == dict(build_request_headers(a_request(), US))


@pytest.mark.parametrize(
    ("url", "allow_private", "error"),
    [
        pytest.param("https://a.test/", False, None, id="web"),
        pytest.param("http://a.test:8080/", False, None, id="other-port"),
        pytest.param("http://127.0.0.1/", True, None, id="loopback-allowed"),
        pytest.param("http://127.0.0.1/", False, "refused_address", id="loopback"),
        pytest.param("http://169.254.169.254/", True, "refused_address", id="vault"),
        pytest.param("http://a.localhost/", False, "refused_host", id="localhost"),
        pytest.param("ftp://a.test/", True, "refused_scheme", id="ftp"),
        pytest.param("http://a.test", True, "bad_url", id="no-path"),
        pytest.param("", True, "refused_scheme", id="nothing"),
    ],
)
def test_forbidden_urls_are_refused(url: str, allow_private: bool, error: Any) -> None:
    refused = url_refusal(url, policy=AddressPolicy(allow_private=allow_private))

    assert (None if refused is None else refused.error_class) == error


@pytest.mark.req("S1.14.4")
def test_every_user_agent_variant_names_product_and_contact() -> None:
    """A site must always see who fetches and whom to contact, and robots.txt must match our product name."""
    us = build_identity(version="1.0", contact="https://example.org/bot", use_variants=True)
    agents = {select_user_agent(a_request(lease_id=f"lease-{number}"), us) for number in range(200)}
    plain = build_identity(version="1.0", contact="https://example.org/bot")

    assert agents == {us.user_agent, *us.user_agent_variants}
    assert all("Strider/1.0" in agent and "+https://example.org/bot" in agent for agent in agents)
    assert select_user_agent(a_request(kind="robots"), us) == us.user_agent == plain.user_agent
    assert plain.user_agent_variants == ()
