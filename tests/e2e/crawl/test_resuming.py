"""Interrupted at any moment, a crawl resumes: nothing lost, no line doubled, nothing fetched again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from strider.testing.site import ServedSite, SiteShape, serve_site
from tests.e2e.checks import (
    asked_too_often,
    assert_only_known_urls_were_asked,
    assert_polite,
    assert_robots_came_first,
)

from .scene import (
    INTERRUPT,
    KILL,
    QUICK,
    by_outcome,
    check_lines,
    interrupt_when,
    lines_of,
    run,
    start,
    wait_until,
)

SHAPE = SiteShape(hosts=3, pages_per_host=12, slow_seconds=0.3)
CONCURRENCY = 8
DELAY_SECONDS = 0.4


@pytest.fixture
def site(tmp_path: Path) -> Iterator[ServedSite]:
    with serve_site(12, SHAPE, log=tmp_path / "access.log") as served:
        yield served


def crawl(site: ServedSite, tmp_path: Path, *more: str) -> tuple[str, ...]:
    return (
        *(*site.plan.seeds, "--allow-private", "--scope", "any", "--delay", str(DELAY_SECONDS)),
        *("-o", str(tmp_path / "pages.jsonl"), "--resume", str(tmp_path / "state")),
        *("--concurrency", str(CONCURRENCY), *QUICK, *more),
    )


def check_access(site: ServedSite) -> None:
    """As in one crawl without an interruption: politeness outlives the process."""
    assert_only_known_urls_were_asked(site)
    assert_robots_came_first(site)
    assert_polite(site, delay_seconds=DELAY_SECONDS)


def requests(site: ServedSite) -> int:
    return site.request_counts().total()


def test_after_ctrl_c_the_same_command_continues_without_a_second_fetch(
    site: ServedSite, tmp_path: Path
) -> None:
    """Fetched pages became lines before the process ended."""
    order = crawl(site, tmp_path)

    first = interrupt_when(start(*order), lambda: requests(site) >= 20, INTERRUPT)
    between = lines_of(tmp_path / "pages.jsonl")
    second = run(*order)

    assert (first.code, second.code) == (130, 0)
    assert "saved in" in first.err
    lines = lines_of(tmp_path / "pages.jsonl")
    assert lines[: len(between)] == between
    check_lines(lines, site.plan, is_quick=True)
    check_access(site)
    assert asked_too_often(site) == {}


def test_a_crawl_that_is_interrupted_again_and_again_comes_to_its_end(
    site: ServedSite, tmp_path: Path
) -> None:
    """Whatever it did each time."""
    order = crawl(site, tmp_path)

    for most in (4, 18, 33):
        ended = interrupt_when(start(*order), lambda most=most: requests(site) >= most, INTERRUPT)
        assert ended.code in {130, 0}
    assert run(*order).code == 0

    check_lines(lines_of(tmp_path / "pages.jsonl"), site.plan, is_quick=True)
    check_access(site)
    assert asked_too_often(site) == {}


@pytest.mark.parametrize("seed", range(2))
def test_after_a_kill_nothing_is_lost_and_no_line_is_doubled(
    site: ServedSite, tmp_path: Path, seed: int
) -> None:
    """At random moments; requests of the last second are repeated, and nothing else."""
    order, chance = crawl(site, tmp_path), Random(seed)
    kills = 0
    for most in sorted(chance.sample(range(1, 50), 3)):
        ended = interrupt_when(start(*order), lambda most=most: requests(site) >= most, KILL)
        kills += ended.code == -KILL

    last = run(*order)

    assert (last.code, kills > 0) == (0, True)
    check_lines(lines_of(tmp_path / "pages.jsonl"), site.plan, is_quick=True)
    check_access(site)


@pytest.mark.parametrize("number", [pytest.param(INTERRUPT, id="ctrl-c"), pytest.param(KILL, id="kill -9")])
def test_the_limit_of_pages_counts_those_from_before(site: ServedSite, tmp_path: Path, number: int) -> None:
    """Also of hosts that are read last; otherwise each interruption would allow a few more."""
    order = crawl(site, tmp_path, "--max-pages", "16")

    first = interrupt_when(start(*order), lambda: requests(site) >= 12, number)
    second = run(*order)

    assert (first.code, second.code) in {(130, 0), (-KILL, 0)}
    lines = lines_of(tmp_path / "pages.jsonl")
    assert len(by_outcome(lines, "page")) == 16
    assert len({line["url"] for line in lines}) == len(lines)
    check_access(site)


def test_what_is_complete_is_not_begun_again(site: ServedSite, tmp_path: Path) -> None:
    """The same command repeated sends no request."""
    order = crawl(site, tmp_path, "--max-pages", "5")
    assert run(*order).code == 0
    lines, asked = lines_of(tmp_path / "pages.jsonl"), requests(site)

    again = run(*order)

    assert (again.code, again.err) == (0, "this crawl is complete; nothing to do\n")
    assert (lines_of(tmp_path / "pages.jsonl"), requests(site)) == (lines, asked)


def test_another_crawl_is_refused_the_state_with_a_reason(site: ServedSite, tmp_path: Path) -> None:
    """Both files stay as they are."""
    assert run(*crawl(site, tmp_path, "--max-pages", "3")).code == 0
    before = (tmp_path / "pages.jsonl").read_bytes()

    other = run(*crawl(site, tmp_path, "--max-pages", "4"))

    assert other.code == 2
    assert "a crawl with other max pages" in other.err
    assert (tmp_path / "pages.jsonl").read_bytes() == before


def test_a_second_process_on_the_same_state_is_refused(site: ServedSite, tmp_path: Path) -> None:
    """Two that write one file would each lose the lines of the other."""
    order = crawl(site, tmp_path, "--delay", "4")  # so that the first still runs, on any machine
    first = start(*order)
    try:
        wait_until(lambda: requests(site) >= 1, "it asks", process=first)

        second = run(*order)

        assert second.code == 2
        assert "in use by another process" in second.err
    finally:
        first.kill()
        first.communicate()


def test_an_output_that_was_cut_short_since_is_refused(site: ServedSite, tmp_path: Path) -> None:
    """Missing lines cannot be restored."""
    order = crawl(site, tmp_path)
    assert interrupt_when(start(*order), lambda: requests(site) >= 20, INTERRUPT).code == 130
    (tmp_path / "pages.jsonl").write_bytes(b"")

    ended = run(*order)

    assert ended.code == 2
    assert "shorter than when the state was saved" in ended.err


def test_a_deleted_output_is_reported_with_a_remedy(site: ServedSite, tmp_path: Path) -> None:
    """The state cannot be resumed without its lines; following the advice starts again."""
    order = crawl(site, tmp_path, "--max-pages", "12")
    assert interrupt_when(start(*order), lambda: requests(site) >= 5, INTERRUPT).code == 130
    (tmp_path / "pages.jsonl").unlink()

    refused = run(*order)

    state = tmp_path / "state"
    assert refused.code == 2
    assert f"pages.jsonl: is missing, and the state in {state} belongs to it" in refused.err
    assert f"delete {state} as well" in refused.err
    state.unlink()
    assert run(*order).code == 0
    assert by_outcome(lines_of(tmp_path / "pages.jsonl"), "page")
