"""Steps of the decision about a URL, in the order in which the crawler takes them.

    normalization ─▶ address ─▶ scope ─▶ depth ─▶ frontier ─▶ command ─▶ robots ─▶ politeness

The decisions are those of link-ingestion and of the scheduler, evaluated again with the log and the working
set: nothing is decided here. A step whose input is not known is `unknown`. (`command` is the job command that
applies.)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from strider.cli.output import time_text
from strider.contracts.generated.enums import HostRecordKind
from strider.contracts.generated.events import CrawlSpecDeclared, EntryRecorded, HostRecorded
from strider.crawl.runs.commands import run_state_name
from strider.crawl.runs.control import RunControl, RunState
from strider.frontier.redis.inspection import HostGroupSnapshot
from strider.link_ingestion.core.link_filter import LinkFilters
from strider.link_ingestion.core.spec_rules import compile_rules as link_rules_of
from strider.scheduler.core.entries.acceptance import refuse_url
from strider.scheduler.core.hosts.robots import (
    NO_ROBOTS,
    CachedRobots,
    RobotsDecision,
    check_robots,
    parse_robots,
    robots_from_record,
)
from strider.urls import host_of

from .facts import delay_text, entry_fact, time_of_ms
from .robots_wait import robots_wait_text


@dataclass(frozen=True, slots=True)
class DecisionStep:
    """Result of one step."""

    step: str
    result: str
    """`yes`: the next step decides; `no`: the URL ends here; `waits`; or `unknown`."""
    text: str

    def to_json(self) -> dict[str, str]:
        """Return the step under the field names of `strider explain --json`."""
        return {"step": self.step, "result": self.result, "text": self.text}


@dataclass(frozen=True, slots=True)
class UrlEvidence:
    """State of one URL in one job."""

    url: str
    from_url: str
    """The page that links to it; empty for a seed."""
    entry: EntryRecorded | None
    spec: CrawlSpecDeclared | None
    run_control: RunControl
    hosts: Sequence[HostRecorded]
    live: HostGroupSnapshot | None
    origin: str
    agent: str
    allow_private: bool
    now_ms: int
    respects_robots: bool = True
    wanted_spec: str = ""
    """The crawl spec that was requested by id."""
    specs: Mapping[str, CrawlSpecDeclared] = field(default_factory=dict)
    """All crawl specs, by id."""


_NO_SPEC: Final = CrawlSpecDeclared(crawl_spec_id="")


def decision_steps(evidence: UrlEvidence) -> Iterator[DecisionStep]:
    """Return the steps in their order."""
    yield from _rule_steps(evidence)
    yield from _frontier_steps(evidence)
    yield _robots_step(evidence)
    yield _politeness_step(evidence)


def _rule_steps(evidence: UrlEvidence) -> Iterator[DecisionStep]:
    spec, entry = evidence.spec, evidence.entry
    # Schemes and ports are judged once there is a spec; addresses are judged without one.
    place = refuse_url(evidence.url, spec or _NO_SPEC, allow_private=evidence.allow_private)
    yield _rule_step("address", place.reason.value if place else "", place.detail if place else "")
    if spec is None:
        named = f"unknown crawl spec {evidence.wanted_spec}"
        unnamed = "the URL has no crawl spec: name one with --spec"
        yield DecisionStep("scope", "unknown", named if evidence.wanted_spec else unnamed)
        return
    grounds = LinkFilters(allow_private=evidence.allow_private)
    [judged] = grounds.filter_for(evidence.from_url or evidence.url, link_rules_of(spec)).judge_wire_urls(
        [evidence.url]
    )
    yield _rule_step("scope", judged.reason, judged.detail)
    if entry is not None:
        is_deep = entry.depth > spec.max_depth
        yield DecisionStep("depth", "no" if is_deep else "yes", f"{entry.depth} of {spec.max_depth}")


def _frontier_steps(evidence: UrlEvidence) -> Iterator[DecisionStep]:
    entry = evidence.entry
    if entry is None:
        yield DecisionStep("frontier", "unknown", "the URL was never accepted")
        return
    is_closed = entry.closed_at_ms > 0
    yield DecisionStep("frontier", "no" if is_closed else "yes", entry_fact(entry).text)
    order = evidence.run_control.directive_of(entry)
    result = {RunState.RUNS: "yes", RunState.PAUSED: "waits"}.get(order.state, "no")
    detail = f", by {order.by}" if order.by else ""
    detail += f": {order.reason}" if order.reason else ""
    yield DecisionStep(
        "command", result, f"run {entry.execution_id} is {run_state_name(order.state)}{detail}"
    )


def _robots_step(evidence: UrlEvidence) -> DecisionStep:
    record = next((each for each in evidence.hosts if each.origin == evidence.origin), None)
    rules: CachedRobots = NO_ROBOTS if record is None else parse_robots(robots_from_record(record))
    spec = evidence.spec or _NO_SPEC
    entry = evidence.entry or _new_entry(evidence)
    permit = check_robots(
        entry,
        spec,
        rules,
        user_agent=evidence.agent,
        now_ms=evidence.now_ms,
        respects_robots=evidence.respects_robots,
    )
    if permit.reason is not None:
        basis = permit.detail or f"robots.txt is {rules.origin_state.state.value}"
        return DecisionStep("robots", "no", f"{permit.reason.value}; {basis}")
    if wait := robots_wait_text(entry, spec, evidence.hosts, respects_robots=evidence.respects_robots):
        return DecisionStep("robots", "waits", wait)
    if permit.decision is RobotsDecision.FETCH_FIRST:
        return DecisionStep("robots", "waits", f"the robots.txt of {evidence.origin} is fetched first")
    if not evidence.respects_robots:
        return DecisionStep(
            "robots", "yes", "robots.txt is ignored here: CRAWLER_RESPECT_ROBOTS_TXT is false"
        )
    state = rules.origin_state.state.value if spec.respect_robots else "ignored by its crawl spec"
    return DecisionStep("robots", "yes", f"robots.txt is {state}")


def _politeness_step(evidence: UrlEvidence) -> DecisionStep:
    bar = evidence.run_control.manual_blocks.get(
        evidence.entry.group if evidence.entry else host_of(evidence.url)
    )
    record = next((each for each in evidence.hosts if each.kind == HostRecordKind.GROUP), None)
    if bar is not None and bar.until_ms > evidence.now_ms:
        detail = f": {bar.reason}" if bar.reason else ""
        return DecisionStep(
            "politeness", "waits", f"the host is blocked by {bar.by or 'an operator'}{detail}"
        )
    live = evidence.live
    if live is None:
        return DecisionStep("politeness", "waits", "its shard is not ready")
    if live.blocked_until_ms > live.now_ms:
        detail = record.block_reason if record is not None else ""
        until = time_text(time_of_ms(live.blocked_until_ms))
        return DecisionStep(
            "politeness", "waits", f"the host has a backoff until {until}" + (f": {detail}" if detail else "")
        )
    delay = f"{delay_text(live, evidence.specs)}; {live.queued} queued"
    if live.in_flight >= live.places:
        return DecisionStep(
            "politeness", "waits", f"{live.in_flight} of {live.places} requests in flight; {delay}"
        )
    if live.next_request_ms > live.now_ms:
        seconds = (live.next_request_ms - live.now_ms) / 1000
        return DecisionStep("politeness", "waits", f"the next request is sent in {seconds:.1f} s; {delay}")
    return DecisionStep("politeness", "yes", f"a request may be sent now; {delay}")


def _new_entry(evidence: UrlEvidence) -> EntryRecorded:
    return EntryRecorded(
        job_id="",
        url_key="",
        url=evidence.url,
        group=host_of(evidence.url),
        state="pending",
        execution_id="",
        crawl_spec_id="",
        fetch_sequence=0,
        updated_at_ms=evidence.now_ms,
    )


def _rule_step(step: str, reason: str, detail: str) -> DecisionStep:
    if not reason:
        return DecisionStep(step, "yes", "allowed")
    return DecisionStep(step, "no", f"{reason}: {detail}" if detail else reason)
