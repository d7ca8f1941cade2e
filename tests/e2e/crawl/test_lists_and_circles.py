"""Sitemaps beyond their limits, and sites that lead in circles: how much of them is requested."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.figures import record_figure

from .documents import REDIRECT, serve_documents
from .scene import lines_of, run

NAMESPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
PAGE = f"<title>Page</title><p>{'A page with a few words. ' * 60}</p>"
OPTIONS = ("--allow-private", "--delay", "0", "-q")


class Pages(dict[str, str]):
    """Documents by path; every path below `/n` is a page."""

    def get(self, path: str, default: str = "") -> str:  # type: ignore[override]
        return PAGE if path.startswith("/n") else super().get(path, default)


def _index(urls: Iterable[str]) -> str:
    entries = "".join(f"<sitemap><loc>{url}</loc></sitemap>" for url in urls)
    return f'<?xml version="1.0"?><sitemapindex {NAMESPACE}>{entries}</sitemapindex>'


def _urlset(urls: Iterable[str]) -> str:
    entries = "".join(f"<url><loc>{url}</loc></url>" for url in urls)
    return f'<?xml version="1.0"?><urlset {NAMESPACE}>{entries}</urlset>'


@pytest.mark.fault("S14", part="sitemaps with more URLs than allowed")
def test_a_sitemap_has_fifty_thousand_urls_and_no_more(tmp_path: Path) -> None:
    documents, requested, output = Pages(), list[str](), tmp_path / "out"
    with serve_documents(documents, requested=requested) as home:
        documents["/big.xml"] = _urlset(f"{home}/n{number}" for number in range(50_001))
        ended = run(f"{home}/big.xml", "--max-pages", "20", *OPTIONS, "-o", str(output))

    assert ended.code == 0, ended.err
    found = Counter((line["outcome"], line["reason"]) for line in lines_of(output))
    assert found == {("page", ""): 20, ("refused", "budget"): 50_000 - 19}
    assert len(requested) == 20 + len(["/robots.txt"])
    record_figure(f"sitemap of 50001 URLs: entries=50000 requests={len(requested)}")


@pytest.mark.fault("S14", part="indexes in circles")
def test_indexes_in_circles_are_requested_once(tmp_path: Path) -> None:
    documents, requested, output = Pages(), list[str](), tmp_path / "out"
    with serve_documents(documents, requested=requested) as home:
        documents["/a.xml"] = _index(f"{home}/{name}.xml" for name in "abc")
        documents["/b.xml"] = _index(f"{home}/{name}.xml" for name in "cba")
        documents["/c.xml"] = _urlset([f"{home}/n1", f"{home}/a.xml"])
        ended = run(f"{home}/a.xml", *OPTIONS, "-o", str(output))

    assert ended.code == 0, ended.err
    assert Counter(requested) == dict.fromkeys(
        [f"127.0.0.1{path}" for path in ("/robots.txt", "/a.xml", "/b.xml", "/c.xml", "/n1")], 1
    )


@pytest.mark.fault("S14", part="indexes ten deep")
def test_nested_indexes_end_at_the_depth_of_the_crawl(tmp_path: Path) -> None:
    documents, requested, output = Pages(), list[str](), tmp_path / "out"
    with serve_documents(documents, requested=requested) as home:
        documents |= {f"/i{depth}.xml": _index([f"{home}/i{depth + 1}.xml"]) for depth in range(10)}
        documents["/i10.xml"] = _urlset([f"{home}/n1"])
        ended = run(f"{home}/i0.xml", "--max-depth", "5", *OPTIONS, "-o", str(output))

    assert ended.code == 0, ended.err
    refused = [(line["url"], line["reason"]) for line in lines_of(output) if line["outcome"] == "refused"]
    assert refused == [(f"{home}/i6.xml", "too_deep")]
    assert requested[1:] == [f"127.0.0.1/i{depth}.xml" for depth in range(6)]


@pytest.mark.fault("S17", part="redirects of two hosts to each other")
def test_redirects_between_two_hosts_end(tmp_path: Path) -> None:
    """Each URL of the circle is requested once, and the entry that closes it says why."""
    documents, requested, output = Pages(), list[str](), tmp_path / "out"
    with serve_documents(documents, requested=requested) as home:
        port = home.rpartition(":")[2]
        documents["/a"] = f"{REDIRECT}http://b.localhost:{port}/b"
        documents["/b"] = f"{REDIRECT}http://a.localhost:{port}/a"
        run(f"http://a.localhost:{port}/a", "--scope", "any", *OPTIONS, "-o", str(output))

    assert Counter(each for each in requested if not each.endswith("robots.txt")) == {
        "a.localhost/a": 1,
        "b.localhost/b": 1,
    }
    (loop,) = (line for line in lines_of(output) if line["reason"] == "redirect_loop")
    first, second = f"http://a.localhost:{port}/a", f"http://b.localhost:{port}/b"
    assert loop["detail"] == f"{first} -> {second} -> {first}"


@pytest.mark.fault("S17", part="language versions that all name each other; canonical URLs that do not exist")
def test_a_storm_of_language_versions_costs_one_request_each(tmp_path: Path) -> None:
    """Sixty pages name all sixty as links and as alternates, and a canonical URL that is missing."""
    languages = [f"l{number}" for number in range(60)]
    documents, requested, output = Pages(), list[str](), tmp_path / "out"
    with serve_documents(documents, requested=requested) as home:
        alternates = "".join(
            f'<link rel="alternate" hreflang="en" href="{home}/{name}"><a href="/{name}">x</a>'
            for name in languages
        )
        head = f'<link rel="canonical" href="{home}/missing">{alternates}'
        documents |= {f"/{name}": f"<head>{head}</head>{PAGE}{name}" for name in languages}
        ended = run(f"{home}/l0", *OPTIONS, "-o", str(output))

    assert ended.code == 0, ended.err
    counts = Counter(each.removeprefix("127.0.0.1") for each in requested)
    assert {path for path, count in counts.items() if count > 1} == set()
    assert {f"/{name}" for name in languages} <= counts.keys()
    assert len(counts) <= len(languages) + len(["/robots.txt", "/missing"])
    record_figure(
        f"language versions={len(languages)} links={len(languages) ** 2 * 2} requests={len(requested)}"
    )
