"""strider frontier: show shards and URLs, rebuild shards, recover stale requests.

Sets marks in Redis only; the scheduler that owns a shard does the work.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict
from typing import Annotated, Final, TypeVar

import typer

from strider.cli.commands import frontier_urls
from strider.cli.connections import REDIS, open_redis, require_address, run_reported
from strider.cli.exit_codes import CommandExit
from strider.cli.options import AsJson, DryRun, Yes
from strider.cli.output import ProgressLine, confirm, counted, fail, print_listing, print_text, warn
from strider.frontier.redis.admin import ABSENT, READY, ShardAdmin, ShardState
from strider.runtime.clocks import SystemClock
from strider.runtime.settings.types import parse_duration

POLL_SECONDS: Final = 0.2
"""Time between two looks at shards that are being rebuilt."""

T = TypeVar("T")

app = typer.Typer(
    no_args_is_help=True, help="Show and rebuild the frontier's shards; list and drop its URLs."
)
app.add_typer(frontier_urls.app)

Shard = Annotated[list[int] | None, typer.Option("--shard", metavar="N", help="Only this shard; repeatable.")]
Shards = Annotated[
    int, typer.Option("--shards", envvar="STRIDER_SHARDS", min=1, max=4096, help="Number of shards.")
]


@app.command("list")
def list_shards(shard: Shard = None, shards: Shards = 12, as_json: AsJson = False) -> None:
    """Show the state of each shard."""
    states = _run(lambda tending: _load_states(tending, _chosen(shard, shards)))
    print_listing(
        [asdict(state) for state in states],
        ("shard", "state", "rebuilt", "queued", "in the pipeline", "epoch", "clock off by"),
        [_shard_row(state) for state in states],
        as_json=as_json,
        empty="no shards",
    )
    if text := absent_text(states):
        warn(text)


def absent_text(states: Sequence[ShardState]) -> str:
    """Return a hint about shards without a working set beside others that have one; else nothing."""
    absent = [str(state.shard) for state in states if state.state == ABSENT]
    if not absent or len(absent) == len(states):
        return ""
    return f"shards without a working set: {', '.join(absent)}; is --shards (STRIDER_SHARDS) right?"


@app.command()
def rebuild(
    shard: Shard = None,
    shards: Shards = 12,
    wait: Annotated[
        str, typer.Option("--wait", help="Longest wait for the rebuild, such as 90s or 15m.")
    ] = "15m",
    yes: Yes = False,
    dry_run: DryRun = False,
) -> None:
    """Drop the working set and rebuild it from the log; the shards release nothing meanwhile."""
    seconds, chosen = _seconds("--wait", wait), _chosen(shard, shards)
    if dry_run:
        for state in _run(lambda tending: _load_states(tending, chosen)):
            print_text(f"would rebuild shard {state.shard} ({state.state}, {state.queued} queued)")
        return
    confirm(
        f"Drop the working set of {counted(len(chosen), 'shard')} and rebuild it? Requests pause meanwhile.",
        is_confirmed=yes,
    )
    late = _run(lambda tending: _rebuild(tending, chosen, seconds=seconds))
    if late:
        fail(
            f"not ready after {wait}: shards {', '.join(map(str, late))}; is a scheduler running?",
            CommandExit.FAILED,
        )
    print_text(f"rebuilt: {counted(len(chosen), 'shard')}")


@app.command()
def recover(
    shard: Shard = None,
    shards: Shards = 12,
    older_than: Annotated[
        str, typer.Option("--older-than", help="Age of the requests, such as 90s or 5m.")
    ] = "5m",
    yes: Yes = False,
) -> None:
    """Requeue requests that no fetcher has started for a time; a started one ends by its own deadline."""
    milliseconds = round(_seconds("--older-than", older_than) * 1000)
    chosen = _chosen(shard, shards)
    confirm(
        f"Requeue requests not started for {older_than} in {counted(len(chosen), 'shard')}?", is_confirmed=yes
    )
    ended = _run(lambda tending: _recover(tending, chosen, older_than_ms=milliseconds))
    print_text(f"requeued: {ended}")


def _shard_row(state: ShardState) -> tuple[str, ...]:
    rebuilt = "" if state.state == READY else f"{state.share:.0%}"
    counts = str(state.queued), str(state.in_ring)
    return (
        str(state.shard),
        state.state,
        rebuilt,
        *counts,
        f"{state.epoch:x}",
        f"{state.offset_ms / 1000:g} s",
    )


async def _load_states(tending: ShardAdmin, shards: Sequence[int]) -> list[ShardState]:
    return [await tending.state(number) for number in shards]


async def _recover(tending: ShardAdmin, shards: Sequence[int], *, older_than_ms: int) -> int:
    return sum([await tending.expire_leases(number, older_than_ms=older_than_ms) for number in shards])


async def _rebuild(tending: ShardAdmin, shards: Sequence[int], *, seconds: float) -> list[int]:
    """Mark the shards for a rebuild, and wait for it; returns those that are not ready in time."""
    absent = [state.shard for state in await _load_states(tending, shards) if state.state == ABSENT]
    if absent:
        warn(
            f"shards {', '.join(map(str, absent))} have no working set yet, which their scheduler makes; "
            "is --shards (STRIDER_SHARDS) right?"
        )
    for number in shards:
        await tending.invalidate(number)
    clock = SystemClock()
    ends_at = clock.monotonic() + seconds
    progress = ProgressLine()
    try:
        while True:
            states = await _load_states(tending, shards)
            done = sum(state.share for state in states) / len(shards)
            progress.show(f"rebuilding {counted(len(shards), 'shard')}  {done:.0%}")
            late = [state.shard for state in states if state.state != READY]
            if not late or clock.monotonic() >= ends_at:
                return late
            await clock.sleep(POLL_SECONDS)
    finally:
        progress.clear()


def _chosen(shard: Sequence[int] | None, shards: int) -> list[int]:
    chosen = sorted(set(shard)) if shard else list(range(shards))
    if chosen[-1] >= shards or chosen[0] < 0:
        wrong = chosen[-1] if chosen[0] >= 0 else chosen[0]
        fail(f"no shard {wrong}; there are 0 to {shards - 1} (STRIDER_SHARDS)", CommandExit.USAGE)
    return chosen


def _seconds(option: str, text: str) -> float:
    try:
        return float(parse_duration(text))
    except ValueError as error:
        fail(f"{option} {text}: {error}", CommandExit.USAGE)


def _run(work: Callable[[ShardAdmin], Awaitable[T]]) -> T:
    async def run() -> T:
        async with open_redis(require_address(REDIS)) as redis:
            return await work(ShardAdmin(redis))

    return run_reported(run)
