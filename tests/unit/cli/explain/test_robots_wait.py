"""Wait of an entry for an unreachable robots.txt, as `strider why` and `strider explain` show it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from strider.cli.explain.decision_steps import UrlEvidence, decision_steps
from strider.cli.explain.facts import entry_fact
from strider.cli.explain.robots_wait import robots_wait_text, with_robots_wait
from strider.contracts.generated.events import HostRecorded
from strider.crawl.runs.control import RunControl
from tests.unit.scheduler.builders import NOW, URL, a_spec, an_entry

ORIGIN, GROUP = "http://www.a.test", "www.a.test"
DOWN = HostRecorded(
    "robots",
    GROUP,
    NOW,
    origin=ORIGIN,
    robots_state="unreachable",
    robots_status=503,
    robots_failures=1,
    last_error_class="status_server",
    unreachable_since_ms=NOW - 2_000,
    robots_asked_at_ms=NOW - 1_000,
    robots_expires_at_ms=NOW + 3_000,
)
TEXT = (
    "robots.txt of http://www.a.test: status 503, last requested 2027-01-15T07:59:59Z, "
    "unreachable since 2027-01-15T07:59:58Z"
)
PATIENT = a_spec(host_patience_seconds=3_600)


def blocked(**fields: Any) -> HostRecorded:
    return HostRecorded("group", GROUP, NOW, **fields)


@pytest.mark.parametrize(
    ("group", "patience_seconds", "following"),
    [
        pytest.param(blocked(), 3_600, "requested again not before 2027-01-15 08:00:03", id="next-request"),
        pytest.param(
            blocked(blocked_until_ms=NOW + 60_000),
            3_600,
            "requested again not before 2027-01-15 08:01:00",
            id="backoff",
        ),
        pytest.param(
            blocked(barred_until_ms=NOW + 61_000),
            3_600,
            "requested again not before 2027-01-15 08:01:01",
            id="manual-block",
        ),
        pytest.param(
            blocked(blocked_until_ms=NOW + 60_000),
            10,
            "given up not before 2027-01-15 08:00:09",
            id="end-of-patience",
        ),
    ],
)
def test_the_text_names_robots_its_response_and_what_follows(
    group: HostRecorded, patience_seconds: int, following: str
) -> None:
    spec = a_spec(host_patience_seconds=patience_seconds)

    assert robots_wait_text(an_entry(), spec, [group, DOWN]) == f"{TEXT}, {following}"


def test_an_entry_that_does_not_wait_for_robots_has_no_text() -> None:
    """It is closed, its spec is unknown or ignores robots.txt, or the robots.txt is another origin's."""
    assert robots_wait_text(an_entry(state="failed"), PATIENT, [DOWN]) == ""
    assert robots_wait_text(an_entry(), None, [DOWN]) == ""
    assert robots_wait_text(an_entry(), a_spec(respect_robots=False), [DOWN]) == ""
    assert robots_wait_text(an_entry(), PATIENT, [DOWN], respects_robots=False) == ""
    assert robots_wait_text(an_entry(), PATIENT, [replace(DOWN, origin="https://www.a.test")]) == ""
    assert robots_wait_text(an_entry(), PATIENT, [replace(DOWN, robots_state="fetched")]) == ""


def test_the_fact_of_an_entry_has_its_wait() -> None:
    fact = entry_fact(an_entry())

    waiting = with_robots_wait(fact, TEXT)

    assert waiting.text == f"{fact.text} It waits for {TEXT}."
    assert waiting.details == {**fact.details, "waits_for": TEXT}
    assert with_robots_wait(fact, "") is fact


@pytest.mark.parametrize(
    ("patience_seconds", "result", "text"),
    [
        pytest.param(3_600, "waits", f"{TEXT}, requested again not before 2027-01-15 08:00:03", id="waits"),
        pytest.param(2, "no", f"robots_unreachable; {TEXT}", id="given-up"),
    ],
)
def test_the_robots_step_names_the_unreachable_robots(patience_seconds: int, result: str, text: str) -> None:
    evidence = UrlEvidence(
        url=URL,
        from_url="",
        entry=an_entry(),
        spec=a_spec(host_patience_seconds=patience_seconds),
        run_control=RunControl(),
        hosts=(DOWN,),
        live=None,
        origin=ORIGIN,
        agent="strider",
        allow_private=False,
        now_ms=NOW,
    )

    (step,) = (step for step in decision_steps(evidence) if step.step == "robots")

    assert (step.result, step.text) == (result, text)
