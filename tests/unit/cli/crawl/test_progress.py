"""Warnings before a crawl, and its progress line."""

from __future__ import annotations

import io
import sys

import pytest

from strider.cli.crawl.progress import CrawlProgress, CrawlProgressLine, needs_contact, request_warnings
from strider.cli.crawl.request import make_request
from strider.contracts.generated.events import CrawlSpecDeclared
from strider.runtime.settings.base import CrawlSettings

POLITE = {"contact": "https://example.org/bot", "host_delay_seconds": 1.0}


@pytest.mark.req("S1.15.6", part="more than five links warn before a crawl of the command")
@pytest.mark.parametrize(
    ("seed", "settings", "spec", "expected"),
    [
        pytest.param("https://example.com/", POLITE, {}, [], id="polite"),
        pytest.param(
            "https://example.com/",
            {**POLITE, "host_delay_seconds": 0.1},
            {},
            ["delay of 0.1 s"],
            id="hurried",
        ),
        pytest.param(
            "https://example.com/", POLITE, {"respect_robots": False}, ["sites of your own"], id="no-robots"
        ),
        pytest.param("https://example.com/", POLITE, {"max_depth": 5}, [], id="deep"),
        pytest.param("https://example.com/", POLITE, {"max_depth": 6}, ["a depth of 6 links"], id="too-deep"),
        pytest.param("http://127.0.0.1/", {}, {}, ["127.0.0.1 is a private address"], id="private"),
        pytest.param(
            "http://shop.localhost/", {"allow_private": True, "host_delay_seconds": 0.0}, {}, [], id="own"
        ),
        pytest.param("no url at all", {}, {}, [], id="no-url"),
    ],
)
def test_impolite_settings_are_warned_about_before_the_crawl(
    seed: str, settings: dict[str, object], spec: dict[str, object], expected: list[str]
) -> None:
    """For what concerns other people's sites; nothing for the own machine."""
    wish = make_request([seed], CrawlSpecDeclared(**{"crawl_spec_id": "", "max_depth": 3, **spec}))

    lines_found = list(request_warnings(wish, CrawlSettings(**settings)))

    assert len(lines_found) == len(expected)
    assert all(part in sentence for part, sentence in zip(expected, lines_found, strict=True))


@pytest.mark.parametrize(
    ("seeds", "contact", "is_needed"),
    [
        pytest.param(["https://example.com/"], "", True, id="a-site-of-others"),
        pytest.param(["https://example.com/"], "me@example.org", False, id="reported"),
        pytest.param(
            ["http://localhost/", "http://a.localhost/", "http://127.8.0.1/", "http://[::1]/"],
            "",
            False,
            id="loopback",
        ),
        pytest.param(["http://localhost/", "http://10.0.0.1/"], "", True, id="one-is-not"),
        pytest.param(["no url at all"], "", False, id="no-url"),
    ],
)
def test_only_loopback_is_crawled_without_a_contact(seeds: list[str], contact: str, is_needed: bool) -> None:
    """Site owners must be able to contact the crawler's operator."""
    wish = make_request(seeds, CrawlSpecDeclared(crawl_spec_id=""))

    assert needs_contact(wish, CrawlSettings(contact=contact)) == is_needed


@pytest.mark.parametrize("is_wanted", [True, False])
def test_progress_is_one_line_that_leaves_nothing_behind(
    monkeypatch: pytest.MonkeyPatch, is_wanted: bool
) -> None:
    """No line is written where standard error is no terminal."""
    terminal = io.StringIO()
    monkeypatch.setattr(sys, "stderr", terminal)
    show = CrawlProgressLine(is_shown=is_wanted)

    show(CrawlProgress(pages=3, queued=5, in_flight=2, errors=1, active_hosts=2))
    show.clear()

    written = terminal.getvalue()
    assert ("3 pages" in written, "5 queued" in written, written.endswith("\r\x1b[K")) == (is_wanted,) * 3
    assert "\n" not in written
