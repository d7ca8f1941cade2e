"""Sites that make URLs without end: the command ends by itself, and has all their real pages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.figures import record_figure
from tests.unit.link_ingestion.test_traps import HOME, Site, archive, calendar, facets, paragraph, sessions

from .documents import serve_documents
from .scene import by_outcome, lines_of, run

IMPRINT = paragraph("imprint", 150)
"""Menus and footers are most of the text; very short pages are rejected."""
OPTIONS = ("--allow-private", "--delay", "0", "--max-depth", "10", "-q")


class GeneratedPages(dict[str, str]):
    """Pages that are made when they are requested."""

    def __init__(self, site: Site) -> None:
        super().__init__()
        self._site = site

    def get(self, path: str, default: str = "") -> str:  # type: ignore[override]  # texts only
        if path == "/robots.txt":
            return default
        text, links = self._site(HOME + path)
        anchors = "".join(
            f'<li><a href="{link.removeprefix(HOME)}">{number}</a></li>' for number, link in enumerate(links)
        )
        blocks = "".join(f"<p>{line}</p>" for line in text.split("\n"))
        blocks += f"<footer><p>{IMPRINT}</p><a href='/'>Home</a></footer>"
        return f"<!doctype html><title>{path}</title><ul>{anchors}</ul><main>{blocks}</main>"


def crawl(site: Site, output: Path) -> tuple[set[str], set[str], int]:
    """Return paths of pages, those of refused links, and the exit code."""
    with serve_documents(GeneratedPages(site)) as home:
        ended = run(f"{home}/", *OPTIONS, "-o", str(output))
    lines = lines_of(output)
    suspected = {line["url"] for line in lines if line.get("reason") == "trap_suspected"}
    return (
        {urlsplit(url)._replace(scheme="", netloc="").geturl() for url in by_outcome(lines, "page")},
        suspected,
        ended.code,
    )


@pytest.mark.fault("S16", part="calendars, filters, session ids, repeated paths")
@pytest.mark.parametrize(
    ("site", "path", "count", "bound"),
    [
        pytest.param(calendar, "/page-{}", 20, 800, id="calendar"),
        pytest.param(facets, "/product-{}", 40, 4_000, id="facets"),
        pytest.param(sessions, "/page-{}", 30, 4_000, id="session-ids"),
    ],
)
def test_a_crawl_of_a_trap_ends_by_itself(
    tmp_path: Path, site: Site, path: str, count: int, bound: int
) -> None:
    """No budget is set; ten links deep there are millions of URLs."""
    pages, suspected, code = crawl(site, tmp_path / "pages.jsonl")

    record_figure(f"{site.__name__} by strider crawl: pages={len(pages)} listed-refusals={len(suspected)}")
    assert code == 0
    assert len(pages) <= bound
    assert suspected
    assert {path.format(number) for number in range(count)} <= {page.partition("?")[0] for page in pages}


def test_an_archive_of_two_thousand_pages_is_fetched_whole(tmp_path: Path) -> None:
    """One template with a date and a parameter, and a few words of its own on each page."""
    text: Callable[[int], str] = lambda number: f"Home\nArchive\n{paragraph(number, 20)}\nImprint"  # noqa: E731
    pages, suspected, code = crawl(
        archive(path="/{year}/12/story?id=no-{n}", text=text), tmp_path / "pages.jsonl"
    )

    assert (len(pages), suspected, code) == (2_041, set(), 0)
