"""Every verdict about a URL, in the order in which the crawler gives them, from what is known of it now.

    normalise ─▶ address ─▶ scope ─▶ depth ─▶ frontier ─▶ wish ─▶ host ─▶ robots ─▶ politeness

The decisions are those of link-ingestion and of the scheduler, asked again with what is in the log and in
the working set: nothing is decided here. What is not known is said to be so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from strider.contracts.generated.enums import HostRecordKind
from strider.contracts.generated.events import CrawlSpecDeclared, EntryRecorded, HostRecorded
from strider.frontier.redis.inspection import HostGroupSnapshot
from strider.link_ingestion.core.link_filter import LinkFilters
from strider.link_ingestion.core.spec_rules import compile_rules as link_rules_of
from strider.scheduler.core import Standing, rules_of
from strider.scheduler.core.entries.acceptance import refuse_url
from strider.scheduler.core.hosts.robots import NO_ROBOTS, CachedRobots, check_robots, robots_from_record
from strider.scheduler.core.runs.control import RunControl
from strider.urls import host_of

from .why_facts import entry_fact, moment, moment_text


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one step says."""

    step: str
    word: str
    """`yes`: it goes on from here; `no`: it ends here; `waits`; or `unknown`."""
    says: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that is known of one URL in one job."""

    url: str
    from_url: str
    """The page that it would be found on; empty for a seed."""
    entry: EntryRecorded | None
    spec: CrawlSpecDeclared | None
    orders: RunControl
    hosts: Sequence[HostRecorded]
    live: HostGroupSnapshot | None
    origin: str
    agent: str
    allow_private: bool
    now_ms: int
    heeds_robots: bool = True
    wanted_spec: str = ""
    """The crawl spec that was asked for by name."""


_NO_SPEC: Final = CrawlSpecDeclared(crawl_spec_id="")


def verdicts(known: Evidence) -> Iterator[Verdict]:
    """Give them one after the other."""
    yield from _rules(known)
    yield from _frontier(known)
    yield _robots(known)
    yield _politeness(known)


def _rules(known: Evidence) -> Iterator[Verdict]:
    spec, entry = known.spec, known.entry
    # What a spec says of schemes and ports is said once there is one; addresses are judged without.
    place = refuse_url(known.url, spec or _NO_SPEC, allow_private=known.allow_private)
    yield _word("address", place.reason.value if place else "", place.detail if place else "")
    if spec is None:
        named = f"no crawl spec {known.wanted_spec} is known"
        unnamed = "no crawl spec is known for it: name one with --spec"
        yield Verdict("scope", "unknown", named if known.wanted_spec else unnamed)
        return
    grounds = LinkFilters(allow_private=known.allow_private)
    [judged] = grounds.filter_for(known.from_url or known.url, link_rules_of(spec)).judge_wire_urls(
        [known.url]
    )
    yield _word("scope", judged.reason, judged.detail)
    if entry is not None:
        is_deep = entry.depth > spec.max_depth
        yield Verdict("depth", "no" if is_deep else "yes", f"{entry.depth} of {spec.max_depth}")


def _frontier(known: Evidence) -> Iterator[Verdict]:
    entry = known.entry
    if entry is None:
        yield Verdict("frontier", "unknown", "it was never accepted")
        return
    is_closed = entry.closed_at_ms > 0
    yield Verdict("frontier", "no" if is_closed else "yes", entry_fact(entry).says)
    order = known.orders.directive_for(entry.job_id, entry.execution_id)
    word = {Standing.RUNS: "yes", Standing.PAUSED: "waits"}.get(order.state, "no")
    why = f", by {order.by}" if order.by else ""
    why += f": {order.reason}" if order.reason else ""
    yield Verdict("wish", word, f"run {entry.execution_id} {standing_text(order.state)}{why}")


def standing_text(standing: Standing) -> str:
    """Put a standing behind the name of a run."""
    return "runs" if standing is Standing.RUNS else f"is {standing.value}"


def _robots(known: Evidence) -> Verdict:
    record = next((each for each in known.hosts if each.origin == known.origin), None)
    rules: CachedRobots = NO_ROBOTS if record is None else rules_of(robots_from_record(record))
    spec = known.spec or _NO_SPEC
    entry = known.entry or _unaccepted(known)
    permit = check_robots(
        entry, spec, rules, user_agent=known.agent, now_ms=known.now_ms, respects_robots=known.heeds_robots
    )
    if permit.reason is not None:
        return Verdict(
            "robots", "no", f"{permit.reason.value}; robots.txt is {rules.origin_state.state.value}"
        )
    if permit.decision is RobotsDecision.FETCH_FIRST:
        return Verdict("robots", "waits", f"the robots.txt of {known.origin} is asked first")
    if permit.decision is RobotsDecision.UNREACHABLE:
        again = moment_text(moment(permit.again_at_ms))
        return Verdict("robots", "waits", f"robots.txt is out of reach; asked again at {again}")
    if not known.heeds_robots:
        return Verdict("robots", "yes", "robots.txt is not heeded here: CRAWLER_RESPECT_ROBOTS_TXT is false")
    state = rules.origin_state.state.value if spec.respect_robots else "not heeded by its crawl spec"
    return Verdict("robots", "yes", f"robots.txt is {state}")


def _politeness(known: Evidence) -> Verdict:
    bar = known.orders.manual_blocks.get(known.entry.group if known.entry else host_of(known.url))
    record = next((each for each in known.hosts if each.kind == HostRecordKind.GROUP), None)
    if bar is not None and bar.until_ms > known.now_ms:
        why = f": {bar.reason}" if bar.reason else ""
        return Verdict("politeness", "waits", f"the host is blocked by {bar.by or 'a person'}{why}")
    live = known.live
    if live is None:
        return Verdict("politeness", "waits", "its shard is not ready")
    if live.blocked_until_ms > live.now_ms:
        why = record.block_reason if record is not None else ""
        until = moment_text(moment(live.blocked_until_ms))
        return Verdict("politeness", "waits", f"the host rests until {until}" + (f": {why}" if why else ""))
    delay = f"{live.delay_ms / 1000:g} s between requests, {live.queued} in its queue"
    if live.in_flight >= live.places:
        return Verdict(
            "politeness", "waits", f"{live.in_flight} of {live.places} requests under way; {delay}"
        )
    if live.next_request_ms > live.now_ms:
        seconds = (live.next_request_ms - live.now_ms) / 1000
        return Verdict("politeness", "waits", f"the next request goes in {seconds:.1f} s; {delay}")
    return Verdict("politeness", "yes", f"a request may go now; {delay}")


def _unaccepted(known: Evidence) -> EntryRecorded:
    return EntryRecorded(
        job_id="",
        url_key="",
        url=known.url,
        group=host_of(known.url),
        state="pending",
        execution_id="",
        crawl_spec_id="",
        fetch_sequence=0,
        updated_at_ms=known.now_ms,
    )


def _word(step: str, reason: str, detail: str) -> Verdict:
    if not reason:
        return Verdict(step, "yes", "nothing speaks against it")
    return Verdict(step, "no", f"{reason}: {detail}" if detail else reason)
