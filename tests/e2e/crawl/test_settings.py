"""Settings of the services in the environment apply to `strider crawl`, which runs them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from strider.testing.hostile import http_response, redirect_response, sends, serve_hostile
from strider.testing.proxy_server import TestProxy, serve_proxy

from .documents import serve_documents
from .scene import lines_of, run

SHORT = {"/": "<title>Short</title><p>Very little.</p>"}


def page(*links: str) -> bytes:
    """A page that is long enough to be content."""
    anchors = "".join(f"<a href={link}>{link}</a>" for link in links)
    return http_response(f"<title>Page</title><p>{'Enough words to be a page. ' * 40}</p>{anchors}".encode())


async def outcomes(url: str, output: Path) -> dict[str, str]:
    """Crawl from a URL; return the reason of each path, or its outcome where it has none."""
    options = ("--allow-private", "--delay", "0", "-q", "-o", str(output))
    ended = await asyncio.to_thread(run, url, *options)

    assert ended.code in {0, 1}, ended.err  # 1: no start URL was fetched
    return {urlsplit(line["url"]).path: line["reason"] or line["outcome"] for line in lines_of(output)}


@pytest.mark.req("S0.3.5", "S0.3.6", "S1.14.6")
@pytest.mark.parametrize("is_file", [pytest.param(False, id="variable"), pytest.param(True, id="yaml")])
async def test_a_crawl_goes_by_its_proxies_once_they_are_enabled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_file: bool
) -> None:
    paths = [f"/{number}" for number in range(5)]
    plays = {"/": sends(page(*paths)), **dict.fromkeys(paths, sends(page()))}
    async with (
        serve_hostile(plays) as server,
        serve_proxy(TestProxy("http")) as one,
        serve_proxy(TestProxy("socks5")) as two,
    ):
        if is_file:
            config = tmp_path / "strider.yaml"
            config.write_text(f"services:\n  fetcher:\n    proxy_urls: ['{one.url}', '{two.url}']\n")
            monkeypatch.setenv("STRIDER_CONFIG", str(config))
        else:
            monkeypatch.setenv("CRAWLER_PROXY_URLS", f"{one.url},{two.url}")
        direct = await outcomes(server.url("/"), tmp_path / "direct.jsonl")
        asked_directly = [*one.requested_targets, *two.requested_targets]
        monkeypatch.setenv("CRAWLER_PROXIES_ENABLED", "true")
        proxied = await outcomes(server.url("/"), tmp_path / "proxied.jsonl")

    assert direct == proxied == dict.fromkeys(["/", *paths], "page")
    assert asked_directly == []
    assert {*one.requested_targets} == {*two.requested_targets} == {f"127.0.0.1:{server.port}"}


@pytest.mark.req("S2.4.6", part="the size is a setting")
@pytest.mark.parametrize(("minimum", "outcome"), [("", "too_short"), ("10", "page")], ids=["default", "set"])
async def test_the_smallest_body_is_a_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, minimum: str, outcome: str
) -> None:
    if minimum:
        monkeypatch.setenv("VALIDATOR_MIN_BODY_BYTES", minimum)
    with serve_documents(SHORT) as home:
        assert await outcomes(home, tmp_path / "pages.jsonl") == {"/": outcome}


@pytest.mark.req("S1.14.3")
@pytest.mark.parametrize(
    ("respects", "expected"),
    [
        pytest.param("", {"/": "robots_denied"}, id="default"),
        pytest.param("true", {"/": "robots_denied"}, id="true"),
        pytest.param("false", {"/": "page"}, id="false"),
    ],
)
async def test_robots_txt_is_obeyed_unless_a_setting_disables_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, respects: str, expected: dict[str, str]
) -> None:
    rules = http_response(b"User-agent: *\nDisallow: /\n")
    if respects:
        monkeypatch.setenv("CRAWLER_RESPECT_ROBOTS_TXT", respects)
    async with serve_hostile({"/": sends(page()), "/robots.txt": sends(rules)}) as server:
        found = await outcomes(server.url("/"), tmp_path / "pages.jsonl")

    assert found == expected
    assert ("/robots.txt" in server.requested_paths) is (respects != "false")


@pytest.mark.req("S1.14.4")
@pytest.mark.parametrize(("varies", "several"), [("", False), ("true", True)], ids=["default", "random"])
async def test_the_user_agent_varies_by_a_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, varies: str, several: bool
) -> None:
    """Each names the product all the same."""
    paths = [f"/{number}" for number in range(20)]
    if varies:
        monkeypatch.setenv("CRAWLER_USE_RANDOM_USER_AGENT", varies)
    async with serve_hostile({"/": sends(page(*paths)), **dict.fromkeys(paths, sends(page()))}) as server:
        await outcomes(server.url("/"), tmp_path / "pages.jsonl")

    agents = {head.partition("User-Agent: ")[2].partition("\r\n")[0] for head in server.request_heads}
    assert (len(agents) > 1) is several
    assert all("Strider/" in agent for agent in agents)


@pytest.mark.req("S1.14.9")
@pytest.mark.req("S1.14.10", part="at most five: a larger value changes nothing")
@pytest.mark.parametrize(
    ("setting", "value", "followed"),
    [
        pytest.param("", "", 5, id="five-by-default"),
        pytest.param("FETCHER_MAX_REDIRECTS", "2", 2, id="two"),
        pytest.param("FETCHER_FOLLOW_REDIRECTS", "true", 5, id="followed"),
        pytest.param("FETCHER_FOLLOW_REDIRECTS", "false", 0, id="not-followed"),
    ],
)
async def test_redirects_are_followed_up_to_the_limits_of_the_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting: str, value: str, followed: int
) -> None:
    if setting:
        monkeypatch.setenv(setting, value)
    plays = {f"/{step}": sends(redirect_response(f"/{step + 1}")) for step in range(7)}
    async with serve_hostile(plays | {"/7": sends(page())}) as server:
        found = await outcomes(server.url("/0"), tmp_path / "pages.jsonl")

    assert server.requested_paths == ["/robots.txt", *(f"/{step}" for step in range(followed + 1))]
    assert list(found.values())[-1] == "too_many_redirects"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        pytest.param("FETCHER_CONNECT_TIMEOUT", "never", id="fetcher"),
        pytest.param("FETCHER_CA_FILE", __file__, id="authorities"),
        pytest.param("CRAWLER_PROXIES_ENABLED", "true", id="proxies"),
        pytest.param("PARSER_SITE_PARSERS", "nobody", id="parser"),
        pytest.param("VALIDATOR_MIN_LINKS", "-1", id="validator"),
    ],
)
def test_a_setting_that_cannot_be_is_wrong_usage(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)

    ended = run("http://127.0.0.1:1/", "--allow-private", "-q")

    assert ended.code == 2
    assert ended.err.startswith("strider: ")
    assert name in ended.err
    assert "Traceback" not in ended.err


async def test_a_crawl_has_the_settings_of_a_file(tmp_path: Path) -> None:
    """An option comes before them."""
    file = tmp_path / "spec.json"
    file.write_text('{"exclude": ["*/b*"], "max_depth": 1, "headers": {"X-Team": "news"}}')
    plays = {"/": sends(page("/a", "/b")), "/a": sends(page("/c")), "/c": sends(page())}
    async with serve_hostile(plays) as server:
        options = ("--allow-private", "--delay", "0", "-q", "--spec", str(file))
        whole, short = tmp_path / "whole.jsonl", tmp_path / "short.jsonl"
        ends = [
            await asyncio.to_thread(run, server.url("/"), *options, "-o", str(whole)),
            await asyncio.to_thread(run, server.url("/"), *options, "--max-depth", "0", "-o", str(short)),
        ]

    assert [each.code for each in ends] == [0, 0], ends[0].err
    reasons = {urlsplit(line["url"]).path: line["reason"] for line in lines_of(whole)}
    assert reasons == {"/": "", "/a": "", "/b": "excluded", "/c": "too_deep"}
    assert [line["outcome"] for line in lines_of(short) if not line["reason"]] == ["page"]
