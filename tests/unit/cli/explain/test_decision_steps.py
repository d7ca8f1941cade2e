"""Steps of the decision about a URL, for every state of the log."""

from __future__ import annotations

from dataclasses import replace

import pytest

from strider.cli.explain.decision_steps import UrlEvidence, decision_steps
from strider.contracts.generated.events import CrawlSpecDeclared, EntryRecorded, JobEvent
from strider.crawl.runs.control import RunControl, RunState
from strider.urls import origin_of


def evidence(url: str, *, allow_private: bool = False, spec: CrawlSpecDeclared | None = None) -> UrlEvidence:
    return UrlEvidence(
        url=url,
        from_url="",
        entry=None,
        spec=spec,
        run_control=RunControl(),
        hosts=(),
        live=None,
        origin=origin_of(url),
        agent="strider",
        allow_private=allow_private,
        now_ms=1_763_467_200_000,
    )


@pytest.mark.parametrize(
    ("url", "allow_private", "word", "sentence"),
    [
        pytest.param("http://169.254.169.254/", True, "no", "metadata_address", id="metadata"),
        pytest.param("http://10.0.0.1/", False, "no", "private_address", id="private"),
        pytest.param("http://10.0.0.1/", True, "yes", "", id="private-and-allowed"),
        pytest.param("https://example.org/", False, "yes", "", id="public"),
    ],
)
@pytest.mark.parametrize("spec", [None, CrawlSpecDeclared(crawl_spec_id="s")], ids=["no-spec", "spec"])
def test_an_address_is_judged_whether_or_not_a_spec_is_known(
    url: str, allow_private: bool, word: str, sentence: str, spec: CrawlSpecDeclared | None
) -> None:
    found = {
        each.step: each for each in decision_steps(evidence(url, allow_private=allow_private, spec=spec))
    }

    assert found["address"].result == word
    assert sentence in found["address"].text
    assert (found["scope"].result == "unknown") == (spec is None)


ENTRY = EntryRecorded("job", "k", "https://example.org/", "example.org", "pending", "run", "s", 0, 0)


@pytest.mark.parametrize("standing", RunState)
def test_every_command_about_a_run_is_shown(standing: RunState) -> None:
    orders = RunControl()
    if standing is RunState.SPENT:
        orders.mark_budget_exhausted(ENTRY.execution_id, ENTRY.crawl_spec_id, "pages")
    elif standing is RunState.COMPLETED:
        orders.apply(JobEvent("1", "run_completed", False, 0, "", execution_id=ENTRY.execution_id))
    else:
        orders.apply(JobEvent("1", _WISHES[standing], True, 0, "", job_id="job"))
    known = replace(evidence(ENTRY.url), entry=ENTRY, run_control=orders)

    found = {each.step: each for each in decision_steps(known)}

    words = {RunState.RUNS: ("yes", "run run is running"), RunState.PAUSED: ("waits", "run run is paused")}
    assert (found["command"].result, found["command"].text.partition(":")[0]) == words.get(
        standing, ("no", f"run run is {standing.value}")
    )


_WISHES = {
    RunState.RUNS: "resume",
    RunState.PAUSED: "pause",
    RunState.CANCELLED: "cancel",
    RunState.DROPPED: "drop",
}


def test_an_unknown_crawl_spec_is_named() -> None:
    found = {each.step: each for each in decision_steps(replace(evidence(ENTRY.url), wanted_spec="nosuch"))}

    assert found["scope"].text == "unknown crawl spec nosuch"
