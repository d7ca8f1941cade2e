"""`strider crawl` with a login: for the sites of its start URLs, and in clear in no file that it keeps."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from strider.testing.site.plan import page_html
from tests.e2e.hostile_producer.attackers import PAGE, Reply, attacker_site, robots_allowing

from .scene import INTERRUPT, by_outcome, interrupt_when, lines_of, run, start

SECRET = "Bearer 0b5e-of-the-owner"


@pytest.mark.fault("A7", part="strider crawl")
def test_a_login_is_for_the_start_urls_and_outlives_an_interruption(tmp_path: Path) -> None:
    """The second process decrypts what the first has saved."""

    def reply(path: str) -> Reply:
        if (robots := robots_allowing(path)) is not None:
            return robots
        if own.requests[-1][1].get("Authorization") != SECRET:
            return (401, {"Content-Type": "text/plain"}, b"log in first")
        links = ["/1", "/2", "/3", f"{other.origin}/linked"]
        return (200, PAGE[1], page_html(f"Members {path}", f"Only for members {path}. " * 30, links))

    state, output = tmp_path / "state", tmp_path / "pages.jsonl"
    with (
        attacker_site(reply) as own,
        attacker_site(lambda path: robots_allowing(path) or PAGE, address="127.9.6.1") as other,
    ):
        command = (
            *(f"{own.origin}/", "--allow-private", "--scope", "any", "--max-depth", "1", "--delay", "0.5"),
            *("-H", f"Authorization: {SECRET}", "-o", str(output), "--resume", str(state)),
        )
        first = interrupt_when(
            start(*command), lambda: len(own.requests) > 2, INTERRUPT
        )  # robots.txt, one page
        kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
        second = run(*command)

    assert (first.code, second.code) == (130, 0), first.err + second.err
    assert len(by_outcome(lines_of(output), "page")) == 5
    assert set(own.headers("Authorization")) == {SECRET}
    assert (len(other.requests), other.headers("Authorization")) == (2, [])
    assert own.origin.encode() in kept
    assert SECRET.encode() not in kept
    assert stat.S_IMODE((tmp_path / "state.key").stat().st_mode) == 0o600
