"""Verdicts about a URL: what speaks for and against it, whatever stands in the log."""

from __future__ import annotations

from dataclasses import replace

import pytest

from strider.cli.explain_verdicts import Evidence, verdicts
from strider.contracts.generated.events import CrawlSpecDeclared, EntryRecorded, JobEvent
from strider.scheduler.core import Standing
from strider.scheduler.core.runs.control import RunControl
from strider.urls import origin_of


def evidence(url: str, *, allow_private: bool = False, spec: CrawlSpecDeclared | None = None) -> Evidence:
    return Evidence(
        url=url,
        from_url="",
        entry=None,
        spec=spec,
        orders=RunControl(),
        hosts=(),
        live=None,
        origin=origin_of(url),
        agent="strider",
        allow_private=allow_private,
        now_ms=1_763_467_200_000,
    )


@pytest.mark.parametrize(
    ("url", "allow_private", "word", "says"),
    [
        pytest.param("http://169.254.169.254/", True, "no", "metadata_address", id="metadata"),
        pytest.param("http://10.0.0.1/", False, "no", "private_address", id="private"),
        pytest.param("http://10.0.0.1/", True, "yes", "", id="private-and-allowed"),
        pytest.param("https://example.org/", False, "yes", "", id="public"),
    ],
)
@pytest.mark.parametrize("spec", [None, CrawlSpecDeclared(crawl_spec_id="s")], ids=["no-spec", "spec"])
def test_an_address_is_judged_whether_or_not_a_spec_is_known(
    url: str, allow_private: bool, word: str, says: str, spec: CrawlSpecDeclared | None
) -> None:
    found = {each.step: each for each in verdicts(evidence(url, allow_private=allow_private, spec=spec))}

    assert found["address"].word == word
    assert says in found["address"].says
    assert (found["scope"].word == "unknown") == (spec is None)


ENTRY = EntryRecorded("job", "k", "https://example.org/", "example.org", "pending", "run", "s", 0, 0)


@pytest.mark.parametrize("standing", Standing)
def test_whatever_is_wished_of_a_run_is_told(standing: Standing) -> None:
    orders = RunControl()
    if standing is Standing.SPENT:
        orders.spend("run", "pages")
    else:
        orders.apply(JobEvent("1", _WISHES[standing], True, 0, "", job_id="job"))
    known = replace(evidence(ENTRY.url), entry=ENTRY, orders=orders)

    found = {each.step: each for each in verdicts(known)}

    words = {Standing.RUNS: ("yes", "run run runs"), Standing.PAUSED: ("waits", "run run is paused")}
    assert (found["wish"].word, found["wish"].says.partition(":")[0]) == words.get(
        standing, ("no", f"run run is {standing.value}")
    )


_WISHES = {
    Standing.RUNS: "resume",
    Standing.PAUSED: "pause",
    Standing.CANCELLED: "cancel",
    Standing.DROPPED: "drop",
}


def test_a_crawl_spec_that_nobody_knows_is_named() -> None:
    found = {each.step: each for each in verdicts(replace(evidence(ENTRY.url), wanted_spec="nosuch"))}

    assert found["scope"].says == "no crawl spec nosuch is known"
