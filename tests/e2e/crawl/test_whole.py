"""`strider crawl` on a generated site, from its first URL to its completion."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from strider.cli.crawl.results import EXTRA_FIELDS, RESULT_FIELDS
from strider.testing.site import ServedSite, SiteShape, serve_site
from tests.e2e.checks import (
    asked_too_often,
    assert_only_known_urls_were_asked,
    assert_polite,
    assert_robots_came_first,
)

from .scene import QUICK, by_outcome, check_lines, lines_of, run

SHAPE = SiteShape(hosts=3, pages_per_host=12, slow_seconds=0.3)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[ServedSite]:
    with serve_site(11, SHAPE, log=tmp_path / "access.log") as served:
        yield served


def crawl(site: ServedSite, *more: str) -> tuple[str, ...]:
    return (*site.plan.seeds, "--allow-private", "--scope", "any", *more)


@pytest.mark.req("S3.17.3", "S1.2.12")
@pytest.mark.req("S0.1.11", part="disabled: `strider crawl` needs no Redis")
def test_every_page_is_a_line_and_every_other_line_has_a_reason(site: ServedSite, tmp_path: Path) -> None:
    """The expected sets come from the plan of the site; the access log is the site's own."""
    output = tmp_path / "pages.jsonl"

    ended = run(*crawl(site, "--delay", "0.4", "-o", str(output), "--json"))

    assert (ended.code, ended.err) == (0, "")
    lines = lines_of(output)
    check_lines(lines, site.plan)
    assert_only_known_urls_were_asked(site)
    assert_robots_came_first(site)
    assert_polite(site, delay_seconds=0.4)
    assert asked_too_often(site) == {}
    assert {tuple(line) for line in lines} == {RESULT_FIELDS}
    answered = [line for line in lines if line["status"]]
    assert [line["url"] for line in answered if not line["duration_ms"]] == []
    missing = [line for line in answered if line["status"] == 404]
    assert missing
    assert [line for line in missing if not (line["content_type"] and line["length"])] == []
    led_by = {line["final_url"]: line["url"] for line in lines if line["outcome"] == "redirected"}
    assert led_by
    assert [line["url"] for line in lines if line["url"] in led_by and not line["referrer"]] == []
    summary = json.loads(ended.out)
    assert (summary["end"], summary["urls"], summary["messages_given_up"]) == ("complete", len(lines), 0)
    assert summary["outcomes"]["page"] == len(site.plan.pages)


@pytest.mark.req("S3.17.2")
def test_the_delay_is_kept_between_any_two_requests_to_a_host(site: ServedSite, tmp_path: Path) -> None:
    """Redirect targets, retries and robots.txt are requests like others; the default is one second."""
    order = crawl(site, *QUICK, "--max-pages", "12", "-q", "-o", str(tmp_path / "out"))

    ended = run(*order)

    assert ended.code == 0
    # The site logs a request with a delay on a busy machine.
    assert min(site.shortest_intervals().values()) >= 0.7


def test_a_host_gets_at_most_its_concurrency(site: ServedSite, tmp_path: Path) -> None:
    """One by default; the slow page keeps its slot while others are fetched."""
    ended = run(*crawl(site, *QUICK, "--delay", "0", "--per-host", "3", "-q", "-o", str(tmp_path / "out")))

    assert ended.code == 0
    most = max(_at_a_time(lines) for lines in site.requests_by_host().values())
    assert 1 < most <= 3


def _at_a_time(lines: list) -> int:
    return max(
        sum(other.started <= line.started < other.ended for other in lines if other is not line) + 1
        for line in lines
    )


@pytest.mark.parametrize("most", [1, 7])
def test_no_more_pages_are_fetched_than_the_limit(site: ServedSite, tmp_path: Path, most: int) -> None:
    """URLs that were found and not fetched have the reason."""
    output = tmp_path / "out"

    ended = run(*crawl(site, "--delay", "0", "--max-pages", str(most), "-q", "-o", str(output)))

    assert ended.code == 0
    lines = lines_of(output)
    assert len(by_outcome(lines, "page")) == most
    assert "budget" in {line["reason"] for line in lines}


@pytest.mark.parametrize(
    ("limits", "most"),
    [
        pytest.param(("--max-pages-per-host", "3"), 9, id="pages"),
        pytest.param(("--max-pages-per-host", "3", "--max-bytes", "3000"), 4, id="bytes"),
    ],
)
def test_no_host_exceeds_its_budget_of_pages_or_bytes(
    site: ServedSite, tmp_path: Path, limits: tuple[str, ...], most: int
) -> None:
    """A page of this site has some eight hundred bytes before decompression."""
    output = tmp_path / "out"

    ended = run(*crawl(site, "--delay", "0", *limits, "-q", "-o", str(output)))

    assert ended.code == 0
    lines = lines_of(output)
    hosts = Counter(urlsplit(line["url"]).netloc for line in lines if line["outcome"] == "page")
    assert max(hosts.values()) == 3
    assert 3 <= hosts.total() <= most
    assert "budget" in {line["reason"] for line in lines}


def test_only_pages_means_only_pages(site: ServedSite, tmp_path: Path) -> None:
    """The summary still counts the others."""
    output = tmp_path / "out"

    ended = run(*crawl(site, *QUICK, "--delay", "0", "--only-pages", "--json", "-o", str(output)))

    assert {line["url"] for line in lines_of(output)} == site.plan.pages
    assert json.loads(ended.out)["outcomes"]["refused"] > 0


def test_csv_has_the_same_columns(site: ServedSite, tmp_path: Path) -> None:
    """Texts with line ends are one field."""
    output = tmp_path / "out.csv"

    ended = run(*crawl(site, *QUICK, "--delay", "0", "--format", "csv", "-q", "-o", str(output)))

    assert ended.code == 0
    with output.open(newline="", encoding="utf-8") as rows:
        lines = list(csv.DictReader(rows))
    assert tuple(lines[0]) == RESULT_FIELDS
    assert {line["url"] for line in lines if line["outcome"] == "page"} == site.plan.pages


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_who_wants_more_of_a_page_gets_more_fields(site: ServedSite, tmp_path: Path, form: str) -> None:
    """The same in every line, empty without a page; the other fields do not change."""
    output = tmp_path / "out"
    wanted = ("--extract", "records", "--format", form, "-q", "-o", str(output))

    ended = run(*crawl(site, *QUICK, "--delay", "0", *wanted))

    assert ended.code == 0
    with output.open(newline="", encoding="utf-8") as rows:
        lines = list(csv.DictReader(rows)) if form == "csv" else [json.loads(row) for row in rows]
    assert {tuple(line) for line in lines} == {(*RESULT_FIELDS, *EXTRA_FIELDS["records"])}
    pages = [line for line in lines if line["outcome"] == "page"]
    assert {line["url"] for line in pages} == site.plan.pages
    assert all(line["main_text"] and line["kind"] for line in pages)
    assert {line["main_text"] for line in lines if line["outcome"] != "page"} == {""}


def test_lines_go_to_standard_output_where_no_file_is_named(site: ServedSite) -> None:
    """And nothing else, so that they can be piped."""
    ended = run(*crawl(site, "--delay", "0", "--max-pages", "3"))

    lines = [json.loads(line) for line in ended.out.splitlines()]
    assert len(by_outcome(lines, "page")) == 3
    assert "complete: 3 pages" in ended.err
