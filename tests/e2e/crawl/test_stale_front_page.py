"""Pages that only a sitemap or a feed names are found behind an unchanged front page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from .documents import serve_documents
from .scene import lines_of, run

PAGE = "<!doctype html><html><title>{0}</title><main><h1>{0}</h1><p>{1}</p></main></html>"
TEXT = "Enough of a text for a page that says something of its own, and is long enough to be one. " * 5
DOCUMENTS = {
    "/": PAGE.format("Front page", f"{TEXT}<a href=/old.html>Old</a>"),
    "/old.html": PAGE.format("Old", TEXT + "old"),
    "/new.html": PAGE.format("New", TEXT + "new"),
    "/sitemap.xml": "<urlset><url><loc>/new.html</loc></url></urlset>",
    "/index.xml": "<sitemapindex><sitemap><loc>/sitemap.xml</loc></sitemap></sitemapindex>",
    "/feed.xml": "<rss><channel><item><title>New</title><link>/new.html</link></item></channel></rss>",
}


@pytest.fixture
def home() -> Iterator[str]:
    with serve_documents(DOCUMENTS) as origin:
        yield origin


@pytest.mark.req("S2.2.8", "S3.21.4")
@pytest.mark.req("S2.0.2", part="where a seed names the sitemap or feed")
@pytest.mark.parametrize(
    ("further", "is_found"),
    [
        pytest.param("", False, id="nothing-but-the-front-page"),
        pytest.param("/sitemap.xml", True, id="sitemap"),
        pytest.param("/index.xml", True, id="index-of-sitemaps"),
        pytest.param("/feed.xml", True, id="feed"),
    ],
)
def test_content_is_found_that_the_front_page_does_not_name(
    home: str, tmp_path: Path, further: str, is_found: bool
) -> None:
    output = tmp_path / "pages.jsonl"
    seeds = [f"{home}/", *([home + further] if further else [])]

    ended = run(*seeds, "--allow-private", "--delay", "0.05", "-o", str(output), "--json")

    assert (ended.code, ended.err) == (0, "")
    pages = {urlsplit(line["url"]).path for line in lines_of(output) if line["outcome"] == "page"}
    assert {"/", "/old.html"} <= pages
    assert ("/new.html" in pages) is is_found
