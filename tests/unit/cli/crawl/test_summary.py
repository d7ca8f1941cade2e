"""Summary of a crawl, as text and as one JSON object."""

from __future__ import annotations

import json

from strider.cli.crawl.summary import CrawlCounters, summary_json, summary_text


def a_tally() -> CrawlCounters:
    tally = CrawlCounters(unlisted=4)
    for outcome, reason in (
        ("page", ""),
        ("page", ""),
        ("failed", "not_found"),
        ("refused", "robots_denied"),
    ):
        tally.count(outcome, reason)
    tally.count_page("slow.test", 900.0)
    tally.count_page("slow.test", 700.0)
    tally.count_page("quick.test", 3.0)
    return tally


def test_programs_get_one_object() -> None:
    """Every outcome is present, also those that did not occur."""
    text = summary_json(a_tally(), 2.5, "complete", given_up=1)

    assert "\n" not in text
    assert json.loads(text) == {
        "end": "complete",
        "seconds": 2.5,
        "urls": 4,
        "outcomes": {"page": 2, "rejected": 0, "redirected": 0, "failed": 1, "refused": 1},
        "reasons": {"failed: not_found": 1, "refused: robots_denied": 1},
        "not_listed": 4,
        "messages_given_up": 1,
        "slowest_hosts": {"slow.test": 800.0, "quick.test": 3.0},
    }


def test_people_get_a_few_lines() -> None:
    """Including what was not done."""
    lines = summary_text(a_tally(), 2.5, is_complete=False, given_up=1).splitlines()

    assert lines[0] == "stopped: 2 pages in 2.5 s"
    assert "  refused links without a line of their own: 4" in lines
    assert any("dead-lettered: 1 message, which" in line for line in lines)
    assert lines[-2].split() == ["slow.test", "800", "ms", "per", "page"]


def test_a_tally_that_was_written_down_is_the_same() -> None:
    """Except for the hosts, whose times are in the records."""
    before = a_tally()

    after = CrawlCounters.from_json(before.to_json())

    assert (after.outcomes, after.reasons, after.unlisted) == (
        before.outcomes,
        before.reasons,
        before.unlisted,
    )
    assert after.hosts == {}


def test_nothing_is_fruitful_but_what_was_fetched() -> None:
    """A redirect or a failure alone is no page; a rejected page was fetched."""
    tally = CrawlCounters()
    tally.count("redirected", "redirected")
    tally.count("failed", "not_found")
    assert tally.has_no_pages

    tally.count("rejected", "soft_not_found")

    assert not tally.has_no_pages
