"""strider frontier: how the shards stand, have them rebuilt from the log, have stale requests given back.

Only says what is wanted; the scheduler that owns a shard does it. Exit codes: 0 done, 1 a shard did not
become ready in time, 2 wrong usage, 3 the working set does not answer.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict
from typing import Annotated, Final, TypeVar

import typer
from rich.console import Console
from rich.progress import Progress

from strider.frontier.redis.admin import ABSENT, READY, ShardAdmin, ShardState
from strider.messaging.errors import StartRefused, Unavailable
from strider.runtime.clocks import SystemClock
from strider.runtime.settings.types import parse_duration

from .options import AsJson
from .topics_broker import EXIT_FOUND, EXIT_USAGE, fail
from .working_set import open_working_set, working_set_url

EXIT_UNREACHABLE: Final = 3
LOOK_SECONDS: Final = 0.2

T = TypeVar("T")

app = typer.Typer(no_args_is_help=True, help="Look at the frontier's shards, rebuild them, recover requests.")

Shard = Annotated[
    list[int] | None, typer.Option("--shard", metavar="N", help="This shard; may be given again. Else all.")
]
Shards = Annotated[
    int, typer.Option("--shards", envvar="STRIDER_SHARDS", min=1, max=4096, help="How many there are.")
]


@app.command("list")
def list_shards(shard: Shard = None, shards: Shards = 12, as_json: AsJson = False) -> None:
    """Show how each shard stands."""
    states = _run(lambda tending: _states(tending, _chosen(shard, shards)))
    if as_json:
        print(json.dumps([asdict(state) for state in states]))
        return
    for state in states:
        far = "" if state.state == READY else f", {state.share:.0%}"
        print(
            f"shard {state.shard}: {state.state}{far}, {state.queued} queued, {state.in_ring} in the ring, "
            f"epoch {state.epoch:x}, clock off by {state.offset_ms / 1000:g} s"
        )


@app.command()
def rebuild(
    shard: Shard = None,
    shards: Shards = 12,
    wait: Annotated[str, typer.Option("--wait", help="How long to wait for it, like 90s or 15m.")] = "15m",
) -> None:
    """Drop the working set and put it back from the log; nothing is released of a shard meanwhile."""
    seconds, chosen = _seconds("--wait", wait), _chosen(shard, shards)
    late = _run(lambda tending: _rebuild(tending, chosen, seconds=seconds))
    if late:
        fail(f"not ready yet: shards {', '.join(map(str, late))}; is a scheduler running?", EXIT_FOUND)
    print(f"rebuilt: {len(chosen)} shards")


@app.command()
def recover(
    shard: Shard = None,
    shards: Shards = 12,
    older_than: Annotated[str, typer.Option("--older-than", help="Like 90s or 5m.")] = "5m",
) -> None:
    """Give requests back that no fetcher has begun for so long. What was begun ends by its own deadline."""
    milliseconds = round(_seconds("--older-than", older_than) * 1000)
    chosen = _chosen(shard, shards)
    ended = _run(lambda tending: _recover(tending, chosen, older_than_ms=milliseconds))
    print(f"given back: {ended}")


async def _states(tending: ShardAdmin, shards: Sequence[int]) -> list[ShardState]:
    return [await tending.state(number) for number in shards]


async def _recover(tending: ShardAdmin, shards: Sequence[int], *, older_than_ms: int) -> int:
    return sum([await tending.expire_leases(number, older_than_ms=older_than_ms) for number in shards])


async def _rebuild(tending: ShardAdmin, shards: Sequence[int], *, seconds: float) -> list[int]:
    absent = [state.shard for state in await _states(tending, shards) if state.state == ABSENT]
    if absent:
        which = ", ".join(map(str, absent))
        print(
            f"shards {which} have no working set yet, and get one from the scheduler that has them; "
            "is --shards (STRIDER_SHARDS) right?",
            file=sys.stderr,
        )
    for number in shards:
        await tending.invalidate(number)
    clock = SystemClock()
    ends_at = clock.monotonic() + seconds
    with Progress(console=Console(file=sys.stderr), transient=True) as progress:
        bar = progress.add_task("rebuilding", total=len(shards))
        while True:
            states = await _states(tending, shards)
            progress.update(bar, completed=sum(state.share for state in states))
            late = [state.shard for state in states if state.state != READY]
            if not late or clock.monotonic() >= ends_at:
                return late
            await clock.sleep(LOOK_SECONDS)


def _chosen(shard: Sequence[int] | None, shards: int) -> list[int]:
    chosen = sorted(set(shard)) if shard else list(range(shards))
    if chosen[-1] >= shards or chosen[0] < 0:
        fail(f"there is no shard {chosen[-1] if chosen[0] >= 0 else chosen[0]}", EXIT_USAGE)
    return chosen


def _seconds(option: str, text: str) -> float:
    try:
        return float(parse_duration(text))
    except ValueError as error:
        fail(f"{option} {text}: {error}", EXIT_USAGE)


def _run(work: Callable[[ShardAdmin], Awaitable[T]]) -> T:
    url = working_set_url()

    async def tend() -> T:
        redis = open_working_set(url)
        try:
            return await work(ShardAdmin(redis))
        finally:
            await redis.close()

    try:
        return asyncio.run(tend())
    except StartRefused as error:
        fail(str(error), EXIT_USAGE)
    except Unavailable as error:
        fail(str(error), EXIT_UNREACHABLE)
