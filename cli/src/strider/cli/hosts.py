"""strider hosts: how hosts stand, and how to have one left alone.

A host means its group: the host itself, or its registrable domain where the deployment groups so. Exit
codes: 0 done, 1 nothing is known of it, 2 wrong usage, 3 the broker or the working set does not answer.
"""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from typing import Annotated, Any, Final

import typer

from strider.contracts.generated.enums import HostRecordKind
from strider.contracts.generated.enums import JobEvent as What
from strider.contracts.generated.events import HostRecorded
from strider.contracts.generated.topics import HOSTS
from strider.contracts.partitioning import shard_of_host
from strider.frontier.redis.inspection import HostGroupSnapshot
from strider.runtime.settings.types import parse_duration
from strider.scheduler.core.runs.control import NO_BLOCK, RunControl
from strider.urls import RefusedUrl, host_of, registrable_domain, to_wire_url

from .control_asking import Frontier, open_frontier
from .options import AsJson, Bootstrap
from .topics_broker import EXIT_FOUND, EXIT_USAGE, Target, fail, run_on_broker
from .why_facts import host_fact, moment, moment_text

app = typer.Typer(no_args_is_help=True, help="Show hosts, block and unblock them.")

Host = Annotated[str, typer.Argument(metavar="HOST", help="A host name or an address.")]

LONGEST_SECONDS: Final = 10 * 366 * 86_400.0


@app.command("list")
def list_hosts(bootstrap: Bootstrap = "", as_json: AsJson = False) -> None:
    """List the hosts with a record: a delay of their own, a rest, a block."""
    records, orders = run_on_broker(bootstrap, _all)
    if as_json:
        print(json.dumps([record.to_record() for record in records]))
        return
    now_ms = round(time.time() * 1000)
    for record in records:
        print(host_fact(record, now_ms=now_ms).says)
    recorded = {record.group for record in records}
    for group in sorted(
        group for group, bar in orders.manual_blocks.items() if bar.until_ms and group not in recorded
    ):
        print(f"{group} is to be left alone; its scheduler has not said so yet.")
    if not records and not orders.manual_blocks:
        print("no host has a record")


@app.command()
def show(name: Host, bootstrap: Bootstrap = "", as_json: AsJson = False) -> None:
    """Show one host: its record, its robots.txt, its queue and its clock."""
    group, records, live = run_on_broker(bootstrap, lambda target: _one(target, name))
    if as_json:
        told = [record.to_record() for record in records]
        print(json.dumps({"group": group, "records": told, "live": asdict(live) if live else None}))
    else:
        for record in records:
            print(host_fact(record, now_ms=round(time.time() * 1000)).says)
        print(_live(live))
    if not records and (live is None or not (live.queued or live.next_request_ms)):
        fail(f"nothing is known of {group}", EXIT_FOUND)


@app.command()
def block(
    name: Host,
    duration: Annotated[str, typer.Option("--for", metavar="TIME", help="Such as 90s, 2h, 7d.")] = "",
    reason: Annotated[str, typer.Option(help="Why, in words.")] = "",
    bootstrap: Bootstrap = "",
    as_json: AsJson = False,
) -> None:
    """Have a host left alone: for a time, or until it is unblocked."""
    until_ms = round((time.time() + _seconds(duration)) * 1000) if duration else 0
    about: dict[str, Any] = {"until_ms": until_ms, "reason": reason}
    group = run_on_broker(bootstrap, lambda target: _block(target, name, **about))
    if as_json:
        print(json.dumps({"group": group, "wish": What.BLOCK_HOST.value, **about}))
    else:
        until = moment_text(moment(until_ms)) if until_ms else "it is unblocked"
        print(f"{group} is left alone until {until}")


@app.command()
def unblock(name: Host, bootstrap: Bootstrap = "", as_json: AsJson = False) -> None:
    """Have a host asked again that somebody had blocked; a rest that it wants itself goes on."""
    now_ms = round(time.time() * 1000)
    group, is_barred, record = run_on_broker(bootstrap, lambda target: _unblock(target, name, now_ms))
    if as_json:
        rests_until_ms = record.blocked_until_ms if record is not None else 0
        told = {"was_blocked": is_barred, "rests_until_ms": rests_until_ms}
        print(json.dumps({"group": group, "wish": What.UNBLOCK_HOST.value, **told}))
    else:
        print(unblocked_text(group, record, is_barred=is_barred, now_ms=now_ms))


def unblocked_text(group: str, record: HostRecorded | None, *, is_barred: bool, now_ms: int) -> str:
    """Say what follows from an unblocking; nobody's wish shortens the rest that a host asked for."""
    says = f"{group} is asked again" if is_barred else f"nobody had blocked {group}"
    if record is None or record.blocked_until_ms <= now_ms:
        return says
    until = moment_text(moment(record.blocked_until_ms))
    return f"{says}; it rests until {until} all the same: {record.block_reason}"


async def _block(target: Target, name: str, **about: Any) -> str:
    group = group_named(target, name)
    async with open_frontier(target) as frontier:
        await frontier.wish(What.BLOCK_HOST, group=group, **about)
    return group


async def _unblock(target: Target, name: str, now_ms: int) -> tuple[str, bool, HostRecorded | None]:
    group = group_named(target, name)
    async with open_frontier(target) as frontier:
        is_barred = (await frontier.orders()).manual_blocks.get(group, NO_BLOCK).until_ms > now_ms
        records = await frontier.latest(HOSTS, [shard_of_host(group, frontier.shards)])
        await frontier.wish(What.UNBLOCK_HOST, group=group)
    known = (each for each in records if each.group == group and each.kind == HostRecordKind.GROUP)
    return group, is_barred, next(known, None)


async def _all(target: Target) -> tuple[list[HostRecorded], RunControl]:
    async with open_frontier(target) as frontier:
        records = await frontier.latest(HOSTS, range(frontier.shards))
        groups = [record for record in records if record.kind == HostRecordKind.GROUP]
        return sorted(groups, key=lambda record: record.group), await frontier.orders()


async def _one(target: Target, name: str) -> tuple[str, list[HostRecorded], HostGroupSnapshot | None]:
    group = group_named(target, name)
    async with open_frontier(target) as frontier:
        return group, *await of_group(frontier, group)


async def of_group(frontier: Frontier, group: str) -> tuple[list[HostRecorded], HostGroupSnapshot | None]:
    """Give what log and working set say of a group: its own record first, then those of its origins."""
    shard = shard_of_host(group, frontier.shards)
    records = await frontier.latest(HOSTS, [shard])
    about = [record for record in records if record.group == group]
    about.sort(key=lambda record: (record.kind != HostRecordKind.GROUP, record.origin))
    return about, await frontier.glance.host_group(shard, group)


def group_named(target: Target, name: str) -> str:
    """Read a host name as the crawler does."""
    found = to_wire_url(f"http://{name}/")
    if isinstance(found, RefusedUrl) or "/" in name or "@" in name:
        fail(f"{name!r} is no host", EXIT_USAGE)
    group = host_of(found)
    return registrable_domain(group) if target.settings.crawl.group_by == "domain" else group


def _seconds(text: str) -> float:
    try:
        seconds = float(parse_duration(text))
    except (TypeError, ValueError):
        fail(f"--for {text}: give a time such as 90s, 2h or 7d", EXIT_USAGE)
    if not 0 < seconds <= LONGEST_SECONDS:
        fail(f"--for {text}: give more than nothing and at most ten years", EXIT_USAGE)
    return seconds


def _live(live: HostGroupSnapshot | None) -> str:
    if live is None:
        return "Its shard is not ready: nothing is asked for meanwhile."
    says = f"{live.queued} in its queue, {live.in_flight} of {live.places} under way"
    next_ms = max(live.next_request_ms, live.blocked_until_ms)
    if next_ms <= live.now_ms:
        return f"{says}; the next request may go now."
    seconds = (next_ms - live.now_ms) / 1000
    return f"{says}; no request before {moment_text(moment(next_ms))}, in {seconds:.1f} s."
