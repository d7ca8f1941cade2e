"""Settings of the services in the environment apply to `strider crawl`, which runs them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from strider.testing.proxy_server import TestProxy, serve_proxy

from .documents import serve_documents
from .scene import lines_of, run

SHORT = {"/": "<title>Short</title><p>Very little.</p>"}


async def test_a_crawl_goes_by_way_of_its_proxy_and_judges_as_it_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy, output = TestProxy("http"), tmp_path / "pages.jsonl"
    with serve_documents(SHORT) as home:
        async with serve_proxy(proxy):
            monkeypatch.setenv("CRAWLER_PROXIES_ENABLED", "true")
            monkeypatch.setenv("CRAWLER_PROXY_URLS", proxy.url)
            monkeypatch.setenv("VALIDATOR_MIN_BODY_BYTES", "10")
            ended = await asyncio.to_thread(
                run, home, "--allow-private", "--delay", "0", "-q", "-o", str(output)
            )

    assert (ended.code, ended.err) == (0, "")
    assert [(line["url"], line["outcome"]) for line in lines_of(output)] == [(f"{home}/", "page")]
    assert set(proxy.requested_targets) == {home.removeprefix("http://")}


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
