"""`strider fetch` and `strider robots check` against servers on loopback, as a person runs them."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import pytest

from strider.fetcher.core import MAX_CONSECUTIVE_FAILURES
from strider.testing.hostile import (
    ACCEPTED_CASES,
    FAILING_CASES,
    PAGE,
    http_response,
    redirect_response,
    sends,
    serve_hostile,
)
from strider.testing.name_server import SERVFAIL, Zone, serve_names


async def _strider(*arguments: str) -> tuple[int, list[dict[str, Any]], str]:
    command = (sys.executable, "-m", "strider.cli", *arguments, "--json")
    run = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    out, said = await run.communicate()
    assert run.returncode is not None
    return run.returncode, [json.loads(line) for line in out.splitlines()], said.decode()


async def test_a_fetch_reports_its_redirects_and_result() -> None:
    plays = {"/a": sends(redirect_response("/b")), "/b": sends(http_response(headers=('ETag: "x"',)))}
    async with serve_hostile(plays) as server:
        code, (told,), said = await _strider("fetch", server.url("/a"), "--allow-private", "--delay", "0")

    assert (code, said, server.requested_paths) == (0, "", ["/a", "/b"])
    assert [hop["status"] for hop in told["chain"]] == [302, 200]
    assert told["outcome"] == "fetched"
    assert (told["final_url"], told["status"], told["etag"]) == (server.url("/b"), 200, '"x"')
    assert ["ETag", '"x"'] in told["headers"]
    assert told["decoded_bytes"] == told["body_bytes"] == len(PAGE)
    assert told["timings_ms"]["total"] > 0


async def test_a_fetch_names_the_limit_that_applied() -> None:
    plays = {path: row.script for path, row in (FAILING_CASES | ACCEPTED_CASES).items()}
    async with serve_hostile(plays) as server:
        urls = [server.url(path) for path in ("/huge-header", "/gzip-bomb", "/slow-head")]
        code, told, _ = await _strider(
            "fetch", *urls, "http://169.254.169.254/", "--allow-private", "--delay", "0", "--timeout", "0.5"
        )

    assert code == 1
    assert [
        (each["outcome"], each["reason"], each["decode_outcome"], len(each["limits"])) for each in told
    ] == [
        ("protocol_error", "head_too_large", "", 1),
        ("fetched", "", "decode_bomb", 1),
        ("timed_out", "head_timeout", "", 1),
        ("policy_blocked", "refused_address", "", 0),
    ]


async def test_names_are_looked_up_at_the_configured_name_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name server of an operator; its names are absolute."""
    async with (
        serve_names({"www.site.test": Zone(("127.0.0.1",)), "gone.test": Zone(rcode=SERVFAIL)}) as names,
        serve_hostile({"/": sends(http_response())}) as server,
    ):
        monkeypatch.setenv("FETCHER_DNS_SERVERS", names.address)
        monkeypatch.setenv("FETCHER_PORTS", str(server.port))
        monkeypatch.setenv("STRIDER_CONTACT", "https://example.org/bot")
        urls = (server.url("/", host="www.site.test"), server.url("/", host="gone.test"))
        _, told, _ = await _strider("fetch", *urls, "--allow-private", "--delay", "0")

    assert [(each["outcome"], each["reason"]) for each in told] == [
        ("fetched", ""),
        ("network_failed", "dns_failed"),
    ]


async def test_redirects_end_at_a_refused_target() -> None:
    async with serve_hostile({"/": sends(redirect_response("http://169.254.169.254/latest"))}) as server:
        code, (told,), _ = await _strider("fetch", server.url("/"), "--allow-private")

    assert (code, told["outcome"], told["reason"]) == (1, "redirected", "policy_blocked")
    assert server.requested_paths == ["/"]


async def test_robots_txt_is_fetched_as_the_crawler_does() -> None:
    """An unreachable robots.txt denies, a missing one allows."""
    rules = b"User-agent: *\nDisallow: /x\n"
    async with (
        serve_hostile({"/robots.txt": sends(http_response(rules))}) as there,
        serve_hostile({}) as absent,
        serve_hostile({"/robots.txt": sends(http_response(b"", status="500 Oops"))}) as broken,
    ):
        urls = (there.url("/x"), there.url("/y"), absent.url("/x"), broken.url("/x"))
        code, told, _ = await _strider("robots", "check", *urls, "--allow-private")

    assert code == 1
    assert [(each["allowed"], each["robots_state"], each["line"]) for each in told] == [
        (False, "fetched", 2),
        (True, "fetched", 0),
        (True, "absent", 0),
        (False, "unreachable", 0),
    ]
    assert (there.requested_paths, broken.requested_paths) == (["/robots.txt"], ["/robots.txt"])


async def test_a_robots_txt_of_another_host_is_a_request_of_its_own() -> None:
    """Nothing else of another host is requested: then the site has no robots.txt, and the report says why."""
    rules = b"User-agent: *\nDisallow: /x\n"
    async with serve_hostile({"/robots.txt": sends(http_response(rules))}) as other:
        names = {"/robots.txt": sends(redirect_response(other.url("/robots.txt", host="b.localhost")))}
        pages = {"/robots.txt": sends(redirect_response(other.url("/robots.txt?1", host="b.localhost")))}
        async with serve_hostile(names) as moved, serve_hostile(pages) as reflecting:
            urls = (moved.url("/x", host="a.localhost"), reflecting.url("/x", host="a.localhost"))
            _, told, _ = await _strider("robots", "check", *urls, "--allow-private")

    assert [(each["allowed"], each["robots_state"], each["redirect_refused"]) for each in told] == [
        (False, "fetched", ""),
        (True, "absent", "robots_elsewhere"),
    ]
    assert told[1]["redirect_target"] == other.url("/robots.txt?1", host="b.localhost")
    assert other.requested_paths == ["/robots.txt"]


async def test_a_truncated_rule_is_ignored() -> None:
    """A rule that the limit truncates would deny another path; the scheduler ignores it as well."""
    first = b"User-agent: *\n"
    rules = first + b"#" * (512_000 - len(first) - 13) + b"\nDisallow: /private/and/more\n"
    async with serve_hostile({"/robots.txt": sends(http_response(rules))}) as server:
        code, (told,), _ = await _strider("robots", "check", server.url("/x"), "--allow-private")

    assert (code, told["allowed"], told["truncated"]) == (0, True, True)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        pytest.param(
            ("--output", "/no/such/folder/x"), "--output /no/such/folder/x: No such file", id="output"
        ),
        pytest.param(("--etag", "a\nb"), "--etag: contains a control character", id="etag"),
        pytest.param(("--since", "yesterday"), "--since 'yesterday': expected an HTTP date", id="since"),
        pytest.param(("/a",), "give all of it", id="path"),
    ],
)
async def test_invalid_arguments_are_reported_before_any_request(
    arguments: tuple[str, ...], why: str
) -> None:
    async with serve_hostile({"/": sends(http_response())}) as server:
        code, told, said = await _strider("fetch", server.url("/"), "--allow-private", *arguments)

    assert (code, told, server.requested_paths) == (2, [], [])
    assert why in said


async def test_missing_prerequisites_are_reported_for_each_url(monkeypatch: pytest.MonkeyPatch) -> None:
    """The service would wait until a proxy is back; a person gets an error."""
    monkeypatch.setenv("CRAWLER_PROXIES_ENABLED", "true")
    monkeypatch.setenv("CRAWLER_PROXY_URLS", "http://127.0.0.1:9")
    urls = [f"http://127.0.0.1:1/{number}" for number in range(MAX_CONSECUTIVE_FAILURES + 2)]

    code, told, said = await _strider("fetch", *urls, "--allow-private", "--delay", "0")

    assert (code, said.count("Traceback")) == (1, 0)
    assert [each["reason"] for each in told] == ["proxy_unreachable"] * len(urls)
    assert (told[-1]["message"], told[-1]["before_connect"]) == ("none of 1 proxies is enabled", True)


async def test_an_invalid_ca_file_is_reported_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FETCHER_CA_FILE", __file__)

    code, told, said = await _strider("fetch", "http://127.0.0.1:1/", "--allow-private")

    assert (code, told, said.count("\n")) == (2, [], 1)
    assert "FETCHER_CA_FILE" in said


async def test_a_private_address_is_refused_with_the_option_that_allows_it() -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "strider.cli", "fetch", "http://localhost:1/", stdout=asyncio.subprocess.PIPE
    )
    said, _ = await process.communicate()

    assert process.returncode == 1
    assert b"--allow-private" in said
