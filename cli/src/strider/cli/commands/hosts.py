"""strider hosts: show the state of hosts, block and unblock them.

A host means its host group: the host itself, or its registrable domain where the deployment groups so.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Annotated, Any, Final

import typer

from strider.cli.connections import BrokerTarget, run_with_broker
from strider.cli.exit_codes import CommandExit
from strider.cli.explain.facts import delay_text, host_fact, time_of_ms, time_text
from strider.cli.frontier.client import FrontierClient, open_frontier_client
from strider.cli.options import AsJson, Bootstrap
from strider.cli.output import fail, print_json, print_text
from strider.contracts.generated.enums import HostRecordKind
from strider.contracts.generated.enums import JobEvent as JobEventKind
from strider.contracts.generated.events import CrawlSpecDeclared, HostRecorded
from strider.contracts.generated.topics import CRAWL_SPECS, HOSTS
from strider.contracts.partitioning import shard_of_host
from strider.crawl.runs.control import NO_BLOCK, RunControl
from strider.frontier.redis.inspection import HostGroupSnapshot
from strider.runtime.settings.types import parse_duration
from strider.urls import RefusedUrl, host_of, registrable_domain, to_wire_url

app = typer.Typer(no_args_is_help=True, help="Show hosts, block and unblock them.")

Host = Annotated[str, typer.Argument(metavar="HOST", help="A host name or an IP address.")]

MAX_BLOCK_SECONDS: Final = 10 * 366 * 86_400.0


@app.command("list")
def list_hosts(bootstrap: Bootstrap = "", as_json: AsJson = False) -> None:
    """List the hosts with a record: a delay of their own, a backoff, a block."""
    records, orders = run_with_broker(bootstrap, _load_all)
    if as_json:
        print_json([record.to_record() for record in records])
        return
    now_ms = round(time.time() * 1000)
    for record in records:
        print_text(host_fact(record, now_ms=now_ms).text)
    recorded = {record.group for record in records}
    for group in sorted(
        group for group, bar in orders.manual_blocks.items() if bar.until_ms and group not in recorded
    ):
        print_text(f"{group} is to be blocked; its scheduler has not confirmed it yet.")
    if not records and not orders.manual_blocks:
        print_text("no host has a record")


@app.command()
def show(name: Host, bootstrap: Bootstrap = "", as_json: AsJson = False) -> None:
    """Show one host: its record, its robots.txt, its queue and its next request."""
    group, records, live, specs = run_with_broker(bootstrap, lambda target: _load_one(target, name))
    lines = host_lines(records, live, specs, now_ms=round(time.time() * 1000))
    if as_json:
        print_json(
            {
                "group": group,
                "records": [record.to_record() for record in records],
                "live": asdict(live) if live else None,
            }
        )
    else:
        for line in lines:
            print_text(line)
    if not lines:
        fail(f"no record of {group}", CommandExit.FAILED)


@app.command()
def block(
    name: Host,
    duration: Annotated[str, typer.Option("--for", metavar="TIME", help="Such as 90s, 2h, 7d.")] = "",
    reason: Annotated[str, typer.Option(help="Recorded with the block.")] = "",
    bootstrap: Bootstrap = "",
    as_json: AsJson = False,
) -> None:
    """Send a host no requests: for a time, or until it is unblocked."""
    until_ms = round((time.time() + _seconds(duration)) * 1000) if duration else 0
    about: dict[str, Any] = {"until_ms": until_ms, "reason": reason}
    group = run_with_broker(bootstrap, lambda target: _block(target, name, **about))
    if as_json:
        print_json({"group": group, "command": JobEventKind.BLOCK_HOST.value, **about})
    else:
        until = time_text(time_of_ms(until_ms)) if until_ms else "it is unblocked"
        print_text(f"{group} is blocked until {until}")


@app.command()
def unblock(name: Host, bootstrap: Bootstrap = "", as_json: AsJson = False) -> None:
    """End the manual block of a host; a backoff that the host itself asked for continues."""
    now_ms = round(time.time() * 1000)
    group, is_barred, record = run_with_broker(bootstrap, lambda target: _unblock(target, name, now_ms))
    if as_json:
        rests_until_ms = record.blocked_until_ms if record is not None else 0
        state = {"was_blocked": is_barred, "rests_until_ms": rests_until_ms}
        print_json({"group": group, "command": JobEventKind.UNBLOCK_HOST.value, **state})
    else:
        print_text(unblocked_text(group, record, is_barred=is_barred, now_ms=now_ms))


def unblocked_text(group: str, record: HostRecorded | None, *, is_barred: bool, now_ms: int) -> str:
    """Return the result of an unblocking; it does not shorten a backoff that the host asked for."""
    text = f"{group} is unblocked" if is_barred else f"{group} was not blocked"
    if record is None or record.blocked_until_ms <= now_ms:
        return text
    until = time_text(time_of_ms(record.blocked_until_ms))
    return f"{text}; its own backoff lasts until {until}: {record.block_reason}"


async def _block(target: BrokerTarget, name: str, **about: Any) -> str:
    group = parse_group(target, name)
    async with open_frontier_client(target) as frontier:
        await frontier.publish_command(JobEventKind.BLOCK_HOST, group=group, **about)
    return group


async def _unblock(target: BrokerTarget, name: str, now_ms: int) -> tuple[str, bool, HostRecorded | None]:
    group = parse_group(target, name)
    async with open_frontier_client(target) as frontier:
        is_barred = (await frontier.load_run_control()).manual_blocks.get(group, NO_BLOCK).until_ms > now_ms
        records = await frontier.read_latest(HOSTS, [shard_of_host(group, frontier.shards)])
        await frontier.publish_command(JobEventKind.UNBLOCK_HOST, group=group)
    known = (each for each in records if each.group == group and each.kind == HostRecordKind.GROUP)
    return group, is_barred, next(known, None)


async def _load_all(target: BrokerTarget) -> tuple[list[HostRecorded], RunControl]:
    async with open_frontier_client(target) as frontier:
        records = await frontier.read_latest(HOSTS, range(frontier.shards))
        groups = [record for record in records if record.kind == HostRecordKind.GROUP]
        return sorted(groups, key=lambda record: record.group), await frontier.load_run_control()


async def _load_one(
    target: BrokerTarget, name: str
) -> tuple[str, list[HostRecorded], HostGroupSnapshot | None, Mapping[str, CrawlSpecDeclared]]:
    group = parse_group(target, name)
    async with open_frontier_client(target) as frontier:
        specs: list[CrawlSpecDeclared] = await frontier.read_latest(CRAWL_SPECS, [0])
        return group, *await load_group(frontier, group), {spec.crawl_spec_id: spec for spec in specs}


async def load_group(
    frontier: FrontierClient, group: str
) -> tuple[list[HostRecorded], HostGroupSnapshot | None]:
    """Read a host group from log and working set: its own record first, then those of its origins."""
    shard = shard_of_host(group, frontier.shards)
    records = await frontier.read_latest(HOSTS, [shard])
    about = [record for record in records if record.group == group]
    about.sort(key=lambda record: (record.kind != HostRecordKind.GROUP, record.origin))
    delay_ms = round(idle_delay_seconds(about, frontier.host_delay_seconds) * 1000)
    return about, await frontier.inspection.host_group(shard, group, default_delay_ms=delay_ms)


def idle_delay_seconds(records: Sequence[HostRecorded], default_seconds: float) -> float:
    """Return the crawl delay of a host without live state: that of its record, else that of the settings."""
    own = (record.delay_seconds for record in records if record.kind == HostRecordKind.GROUP)
    return next(own, default_seconds)


def parse_group(target: BrokerTarget, name: str) -> str:
    """Return the host group of a host name, as the crawler forms it."""
    found = to_wire_url(f"http://{name}/")
    if isinstance(found, RefusedUrl) or "/" in name or "@" in name:
        fail(f"{name!r} is not a host name", CommandExit.USAGE)
    group = host_of(found)
    return registrable_domain(group) if target.settings.crawl.group_by == "domain" else group


def _seconds(text: str) -> float:
    try:
        seconds = float(parse_duration(text))
    except (TypeError, ValueError):
        fail(f"--for {text}: expected a time such as 90s, 2h or 7d", CommandExit.USAGE)
    if not 0 < seconds <= MAX_BLOCK_SECONDS:
        fail(f"--for {text}: expected more than 0 and at most ten years", CommandExit.USAGE)
    return seconds


def host_lines(
    records: Sequence[HostRecorded],
    live: HostGroupSnapshot | None,
    specs: Mapping[str, CrawlSpecDeclared],
    *,
    now_ms: int,
) -> list[str]:
    """Return what is known of a host as lines; none where there is no record, queue or next request."""
    if not records and (live is None or not (live.queued or live.next_request_ms)):
        return []
    return [*(host_fact(record, now_ms=now_ms).text for record in records), _live_text(live, specs)]


def _live_text(live: HostGroupSnapshot | None, specs: Mapping[str, CrawlSpecDeclared]) -> str:
    if live is None:
        return "Its shard is not ready: no requests are released meanwhile."
    text = f"{live.queued} queued, {live.in_flight} of {live.places} requests in flight"
    text += f"; {delay_text(live, specs)}"
    next_ms = max(live.next_request_ms, live.blocked_until_ms)
    if next_ms <= live.now_ms:
        return f"{text}; the next request may be sent now."
    seconds = (next_ms - live.now_ms) / 1000
    return f"{text}; no request before {time_text(time_of_ms(next_ms))}, in {seconds:.1f} s."
