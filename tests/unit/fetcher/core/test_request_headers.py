"""What is put on the wire, and what is not asked at all."""

from __future__ import annotations

from typing import Any

import pytest

from strider.fetcher.core import CrawlerIdentity, Places, headers_of, identity_of, url_refusal, user_agent_of
from tests.unit.fetcher.builders import request

US = identity_of(version="1.0", contact="bot@example.org")


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
        pytest.param({"contact": ""}, CrawlerIdentity("Strider/1.0"), id="nobody"),
        pytest.param(
            {"contact": "bot@example.org", "user_agent": "Mine/2"},
            CrawlerIdentity("Mine/2", "bot@example.org"),
            id="own",
        ),
    ],
)
def test_we_say_who_we_are_and_whom_to_write_to(told: dict[str, str], identity: CrawlerIdentity) -> None:
    assert identity_of(version="1.0", **told) == identity


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
def test_each_kind_asks_for_what_it_can_read(kind: str, accept: str) -> None:
    assert headers_of(request(kind=kind), US) == [
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
def test_a_run_may_add_headers_that_do_no_harm(name: str, value: str, added: bool) -> None:
    sent = headers_of(request(header_names=(name,), header_values=(value,)), US)

    assert ((name, value) in sent) == added
    assert len(sent) == 4 + added


def test_a_run_may_ask_for_another_type() -> None:
    sent = headers_of(request(header_names=("accept",), header_values=("application/pdf",)), US)

    assert sent[1] == ("accept", "application/pdf")
    assert len(sent) == 4


@pytest.mark.parametrize("is_foreign", [False, True])
def test_what_is_meant_for_one_origin_reaches_no_other(is_foreign: bool) -> None:
    wanted = request(
        etag='"v"',
        last_modified="x",
        header_names=("Authorization", "Cookie", "X"),
        header_values=("secret", "a=b", "y"),
    )

    names = {name for name, _ in headers_of(wanted, US, is_foreign=is_foreign)}

    personal = {"Authorization", "Cookie", "If-None-Match", "If-Modified-Since"}
    assert names & personal == (set() if is_foreign else personal)
    assert "X" in names


def test_what_would_break_the_head_is_not_sent() -> None:
    """Validators and agents come from servers and seeds."""
    sent = dict(headers_of(request(etag='"a\r\nX: y"', last_modified="b\n", user_agent="a\r\nb"), US))

    assert sent == dict(headers_of(request(), US))


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
def test_some_urls_are_not_asked(url: str, allow_private: bool, error: Any) -> None:
    refused = url_refusal(url, policy=Places(allow_private=allow_private))

    assert (None if refused is None else refused.error_class) == error


@pytest.mark.req("S1.14.4")
def test_varied_words_say_the_same_of_us() -> None:
    """A site must always see who asks and whom to write to, and robots.txt must know us by our name."""
    us = identity_of(version="1.0", contact="https://example.org/bot", use_variants=True)
    agents = {user_agent_of(request(lease_id=f"lease-{number}"), us) for number in range(200)}
    plain = identity_of(version="1.0", contact="https://example.org/bot")

    assert agents == {us.user_agent, *us.user_agent_variants}
    assert all("Strider/1.0" in agent and "+https://example.org/bot" in agent for agent in agents)
    assert user_agent_of(request(kind="robots"), us) == us.user_agent == plain.user_agent
    assert plain.user_agent_variants == ()
