"""A crawl with a spec of its own: its settings reach every service, its mistakes are refused by field."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from strider.testing.site.plan import page_html, sentences
from tests.e2e.hostile_producer.attackers import AttackerSite, Reply, attacker_site, robots_allowing
from tests.e2e.pipeline import Ring
from tests.processes.waiting import until

from .test_run_ends import ended, result, strider

END_SECONDS = 240.0
HTML = {"Content-Type": "text/html; charset=utf-8"}
COOKIE = "visit=1"
LANGUAGE = "de, en;q=0.5"
SPEC = """\
# The settings of this crawl, as a person writes them.
path_prefixes: [/shop]
use_cookies: true
use_feeds: true
accept_language: de, en;q=0.5
user_agent: Shop-Crawler/1
refused_file_types: [dat]
respect_noindex: false
validation_rules: strict
continuous: true
recrawl_seconds: 86400
delay_seconds: 0.2
labels: {team: shop}
"""
PAGES = ("/", "/shop/a", "/shop/hidden", "/shop/feed.xml", "/shop/from-feed")
"""What is stored."""

pytestmark = pytest.mark.timeout(900)


def reply(path: str) -> Reply:
    if (robots := robots_allowing(path)) is not None:
        return robots
    text = sentences(Random(path), 1_500)
    if path == "/":
        links = ["/shop/a", "/shop/hidden", "/shop/short", "/shop/table.dat", "/blog/x"]
        head = b'<link rel="alternate" type="application/rss+xml" href="/shop/feed.xml"></head>'
        home = page_html("Home", text, links).replace(b"</head>", head)
        return 200, {**HTML, "Set-Cookie": f"{COOKIE}; Path=/"}, home
    if path == "/shop/feed.xml":
        item = "<item><title>New</title><link>/shop/from-feed</link></item>"
        feed = f'<?xml version="1.0"?><rss version="2.0"><channel><title>Shop</title>{item}</channel></rss>'
        return 200, {"Content-Type": "application/rss+xml"}, feed.encode()
    if path == "/shop/short":
        return 200, HTML, b'<title>Short</title>Menu <a href="/shop/a">A</a>'
    page = page_html(f"Page {path}", text, ["/"])
    hidden = b'<meta name="robots" content="noindex"></head>'
    return 200, HTML, page.replace(b"</head>", hidden) if path == "/shop/hidden" else page


@pytest.fixture
def shop() -> Iterator[AttackerSite]:
    with attacker_site(reply, address="127.9.8.1") as site:
        yield site


async def until_stored(ring: Ring, job: str, site: AttackerSite) -> dict[str, Any]:
    """Wait until the pages are stored and the short one is refused; return the rows by path."""
    rows: dict[str, Any] = {}

    async def is_done() -> bool:
        rows.update({row["url"].removeprefix(site.origin): row for row in await ring.pages(job)})
        refused = await ring.decisions_about(f"{site.origin}/shop/short")
        return rows.keys() >= set(PAGES) and bool(refused)

    def seen() -> str:
        return f"stored: {sorted(rows)}, requested: {[path for path, _ in site.requests]}\n{ring.tell()}"

    await until(is_done, what="the pages of the shop", tell=seen, seconds=END_SECONDS)
    return rows


@pytest.mark.req("S5.3.8", part="fields of a crawl spec through all services")
async def test_the_settings_of_a_seed_reach_every_service(
    ring: Ring, shop: AttackerSite, tmp_path: Path
) -> None:
    """Links, requests, validation, storage and recrawl of one crawl, by a file of its owner."""
    file = tmp_path / "shop.yaml"
    file.write_text(SPEC)

    code, _, told = await ended(
        await strider(
            ring,
            *("seeds", "add", f"{shop.origin}/", "--job", "own-spec", "--run", "own-spec-1"),
            *("--spec", str(file), "--set", "max_depth=2"),
        )
    )
    assert code == 0, told
    rows = await until_stored(ring, "own-spec", shop)

    pages = [(path, headers) for path, headers in shop.requests if path != "/robots.txt"]
    assert {path for path, _ in pages} == {*PAGES, "/shop/short"}  # once each, and nothing that is refused
    assert len(pages) == len(PAGES) + 1
    assert {headers["User-Agent"] for _, headers in shop.requests} == {"Shop-Crawler/1"}
    assert {headers.get("Accept-Language") for _, headers in pages} == {LANGUAGE}
    assert [headers.get("Cookie") for _, headers in pages] == [None, *[COOKIE] * (len(pages) - 1)]
    assert rows.keys() == set(PAGES)
    assert await refusals(ring, shop, "/shop/table.dat") == ["refused_file_type"]
    assert await refusals(ring, shop, "/blog/x") == ["out_of_scope"]
    assert await refusals(ring, shop, "/shop/short") == ["rejected"]

    async def waits_for_recrawl() -> bool:
        states = {(row["state"], row["reason"]) for row in await ring.urls("own-spec")}
        return states == {("pending", "due_again")}

    await until(
        waits_for_recrawl, what="all pages wait for their recrawl", tell=ring.tell, seconds=END_SECONDS
    )
    code, listed, told = await ended(await strider(ring, "specs", "list", "--json"))
    assert code == 0, told
    assert rows["/"]["crawl_spec_id"] in {each["crawl_spec_id"] for each in json.loads(listed)}
    shown = await result(ring, "specs", "show", rows["/"]["crawl_spec_id"][:12], "--json")
    settings = shown["settings"]
    assert (settings["accept_language"], settings["max_depth"]) == (LANGUAGE, 2)
    assert settings["labels"] == {"team": "shop"}
    code, _, told = await ended(await strider(ring, "runs", "cancel", "own-spec-1", "--yes"))
    assert code == 0, told


@pytest.mark.req("S5.3.8", part="a declared crawl spec is named by a seed")
async def test_a_spec_is_declared_once_and_named_by_seeds(ring: Ring, shop: AttackerSite) -> None:
    declare = ("specs", "declare", "--set", "scope=listed", "--set", "user_agent=Named/1", "--json")
    first, again = await result(ring, *declare), await result(ring, *declare)

    assert (first["is_new"], again) == (True, {**first, "is_new": False})
    spec_id = first["crawl_spec_id"]
    ring.sow_documents({"url": f"{shop.origin}/shop/a", "job_id": "named", "crawl_spec_id": spec_id})

    async def is_stored() -> bool:
        return [row["crawl_spec_id"] for row in await ring.pages("named")] == [spec_id]

    await until(is_stored, what="the page", tell=ring.tell, seconds=END_SECONDS)
    assert {headers["User-Agent"] for _, headers in shop.requests} == {"Named/1"}


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ({"max_dept": 1}, r"spec\.max_dept: unknown; did you mean 'max_depth'\?"),
        ({"rendering": "always"}, r"spec\.rendering is 'always': there is no renderer yet"),
        ({"recrawl_seconds": 60}, r"^spec\.recrawl_seconds has no effect unless continuous is true"),
        ({"use_cookies": True}, r"^spec\.use_cookies: set, which a raw seed may not use"),
    ],
)
async def test_a_raw_seed_with_unfit_settings_is_refused_by_their_field(
    ring: Ring, shop: AttackerSite, spec: dict[str, Any], sentence: str
) -> None:
    """What no decoder, no crawl and no stranger may: the sender finds the sentence by the URL."""
    url = f"{shop.origin}/{next(iter(spec))}"
    ring.produce_seed({"url": url, "spec": spec})
    rows: list[Any] = []

    async def is_refused() -> bool:
        rows[:] = await ring.decisions_about(url)
        return bool(rows)

    await until(is_refused, what="the seed is refused", tell=ring.tell, seconds=END_SECONDS)
    assert [row["reason"] for row in rows] == ["bad_seed"]
    assert re.search(sentence, rows[0]["detail"])
    assert shop.requests == []


async def refusals(ring: Ring, site: AttackerSite, path: str) -> list[str]:
    """Return the reasons for which a path was refused, each once."""
    return sorted({row["reason"] for row in await ring.decisions_about(f"{site.origin}{path}")})
