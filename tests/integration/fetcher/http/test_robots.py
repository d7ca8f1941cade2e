"""robots.txt over real sockets: the only redirects that the fetcher follows, guarded at each hop."""

from __future__ import annotations

import gzip
from typing import Any

import pytest

from strider.contracts.generated.events import FetchCompleted, FetchRequested
from strider.testing.hostile import (
    CHUNKED,
    HostileServer,
    http_response,
    redirect_response,
    sends,
    sends_forever,
    serve_hostile,
)
from tests.integration.fetcher.http.runner import request, running_client

RULES = b"User-agent: *\nDisallow: /a\n"


def _robots(server: HostileServer, path: str = "/robots.txt", **more: Any) -> FetchRequested:
    return request(server.url(path, host="a.localhost"), kind="robots", deadline_ms=4_000, **more)


async def _ask(
    server_plays: dict[str, Any], *, allow_private: bool = True, **more: Any
) -> tuple[FetchCompleted, HostileServer]:
    async with serve_hostile(server_plays) as server, running_client(allow_private=allow_private) as client:
        meaning = await client.fetch(_robots(server, **more))
        assert meaning.page is None
        return meaning.completed, server


async def test_the_completion_contains_the_robots_txt() -> None:
    told, server = await _ask(
        {"/robots.txt": sends(http_response(gzip.compress(RULES), headers=("Content-Encoding: gzip",)))}
    )

    assert (told.outcome, told.robots_text, told.robots_hops, told.has_page) == (
        "fetched",
        RULES.decode(),
        0,
        False,
    )
    assert told.robots_url == server.url("/robots.txt", host="a.localhost")


async def test_five_redirects_are_followed_and_count_as_one_request() -> None:
    plays = {f"/{n}": sends(redirect_response(f"/{n + 1}")) for n in range(1, 5)}
    plays |= {"/robots.txt": sends(redirect_response("/1")), "/5": sends(http_response(RULES))}

    told, server = await _ask(plays)

    assert (told.outcome, told.robots_text, told.robots_hops) == ("fetched", RULES.decode(), 5)
    assert server.requested_paths == ["/robots.txt", "/1", "/2", "/3", "/4", "/5"]
    assert told.robots_url == server.url("/5", host="a.localhost")


@pytest.mark.parametrize(
    ("location", "refused"),
    [
        pytest.param("/robots.txt", "redirect_loop", id="itself"),
        pytest.param("/on", "redirect_loop", id="circle"),
        pytest.param("/1", "too_many_redirects", id="sixth"),
        pytest.param("http://169.254.169.254/", "policy_blocked", id="vault"),
        pytest.param("file:///etc/passwd", "refused_scheme", id="file"),
    ],
)
async def test_a_refused_redirect_is_an_outcome(location: str, refused: str) -> None:
    plays = {f"/{n}": sends(redirect_response(f"/{n + 1}")) for n in range(1, 9)}
    plays |= {
        "/robots.txt": sends(redirect_response(location)),
        "/on": sends(redirect_response("/robots.txt")),
    }

    told, _ = await _ask(plays)

    assert (told.outcome, told.redirect_refused, told.robots_text) == ("redirected", refused, "")


@pytest.mark.parametrize(
    ("target", "outcome"),
    [
        pytest.param("http://a.localhost:1/robots.txt", "network_failed", id="unreachable"),
        pytest.param("/stuck", "protocol_error", id="nonsense"),
    ],
)
async def test_a_failure_after_a_redirect_reports_the_hops(target: str, outcome: str) -> None:
    """A site whose robots.txt redirects to a dead host is not dead itself; the file counts as unreachable."""
    plays = {"/robots.txt": sends(redirect_response(target)), "/stuck": sends(b"nonsense\r\n\r\n")}

    told, _ = await _ask(plays)

    assert (told.outcome, told.robots_hops, told.robots_text) == (outcome, 1, "")


@pytest.mark.fault("A5")
@pytest.mark.req("S5.2.3", part="redirects of robots.txt to another host group")
@pytest.mark.parametrize(
    ("path", "refused"),
    [
        pytest.param("/robots.txt", "", id="its-robots"),
        pytest.param("/robots.txt?0", "robots_elsewhere", id="query"),
        pytest.param("/expensive?0", "robots_elsewhere", id="page"),
        pytest.param("/sub/robots.txt", "robots_elsewhere", id="path"),
    ],
)
async def test_another_host_is_never_requested_with_the_lease_of_a_site(path: str, refused: str) -> None:
    """Its robots.txt is an outcome, which the scheduler requests by a lease of its own; nothing else is."""
    async with serve_hostile({"*": sends(http_response(RULES))}) as victim:
        target = victim.url(path, host="victim.localhost")
        told, server = await _ask({"/robots.txt": sends(redirect_response(target))})

    assert server.requested_paths == ["/robots.txt"]
    assert victim.connections == 0
    assert (told.outcome, told.redirect_target, told.redirect_refused) == ("redirected", target, refused)


async def test_redirects_within_the_host_group_are_followed() -> None:
    """A deployment that groups by domain has one clock for all hosts of the domain."""
    async with serve_hostile({"/robots.txt": sends(http_response(RULES))}) as other:
        target = other.url("/robots.txt", host="www.a.localhost")
        plays = {"/robots.txt": sends(redirect_response(target))}
        async with serve_hostile(plays) as server, running_client(groups_by_domain=True) as client:
            told = (await client.fetch(_robots(server))).completed

    assert (told.outcome, told.robots_text, told.robots_url) == ("fetched", RULES.decode(), target)
    assert other.requested_paths == ["/robots.txt"]


@pytest.mark.fault("S15")
async def test_five_hundred_kibibytes_are_read_and_no_more() -> None:
    told, _ = await _ask({"/robots.txt": sends_forever(CHUNKED, b"100\r\n" + b"# " * 128 + b"\r\n")})

    assert (told.outcome, len(told.robots_text), told.robots_truncated) == ("fetched", 512_000, True)
    assert told.body_bytes < 700_000


@pytest.mark.parametrize(("status", "outcome"), [("404 Not Found", "not_found"), ("503 Later", "overloaded")])
async def test_a_missing_robots_txt_reports_its_status(status: str, outcome: str) -> None:
    told, _ = await _ask({"/robots.txt": sends(http_response(b"<html>", status=status))})

    assert (told.outcome, told.status, told.robots_text) == (outcome, int(status[:3]), "")


async def test_a_hop_is_refused_like_a_first_request() -> None:
    """The guard checks each of them."""
    told, server = await _ask({}, allow_private=False)

    assert (told.outcome, told.error_class, server.connections) == ("policy_blocked", "refused_host", 0)
