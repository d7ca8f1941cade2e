"""What the end of a run costs, beside the run itself: counts, rounds, proof, and the pass over the log.

Of a job's run also its launch, the comparison with PostgreSQL (here in memory), and the adaptive step.

A whole run of the real scheduler on the in-process bus, in virtual time: the CPU of its ending loop against
that of everything else. Fetcher and parser are simulated there and cost next to nothing, so that the share of
a real run is smaller.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Coroutine, Generator
from contextlib import ExitStack
from dataclasses import dataclass
from types import coroutine
from typing import Any, Final
from unittest.mock import patch

from strider.contracts.generated.topics import JOB_COMMANDS, JOB_EVENTS
from strider.messaging.inprocess import simulate
from strider.scheduler.loops.jobs.completion import JobCompletionLoop
from strider.scheduler.loops.jobs.poll import JobPollLoop
from strider.scheduler.loops.run_endings import RunEndingLoop
from tests.bench.measure import Row
from tests.unit.scheduler.simulation.endings.ending_world import EndingWorld
from tests.unit.scheduler.simulation.jobs.job_world import JobWorld
from tests.unit.scheduler.simulation.web import Host, Page, Web

PAGES: Final = 1_000
PAGES_OF_A_LONG_RUN: Final = 4_000
PAGES_OF_A_HOST: Final = 25
JOB_LOOPS: Final = (JobPollLoop, JobCompletionLoop, RunEndingLoop)


@dataclass(slots=True)
class RunCost:
    """CPU of one run, in seconds, and its messages."""

    whole: float = 0.0
    ending: float = 0.0
    messages: int = 0

    @property
    def share(self) -> float:
        """The end's part, of what the rest took."""
        return self.ending / (self.whole - self.ending)


def measure(*, rounds: int, short: bool) -> list[Row]:
    """Measure runs of two lengths in turn."""
    scale = 5 if short else 1
    lengths = PAGES // scale, PAGES_OF_A_LONG_RUN // scale
    costs: dict[int, list[RunCost]] = {length: [] for length in lengths}
    _cost_of(lengths[0])
    for _ in range(rounds):
        for length in lengths:
            costs[length].append(_cost_of(length))
    few, many = (costs[length] for length in lengths)
    end, run = (
        statistics.median(each) for each in zip(*((one.ending, one.whole) for one in few), strict=True)
    )
    longer = statistics.median(one.ending for one in many) - end
    jobs = [_cost_of(lengths[0], _run_of_job, *JOB_LOOPS) for _ in range(rounds)]
    own, whole = (
        statistics.median(each) for each in zip(*((one.ending, one.whole) for one in jobs), strict=True)
    )
    return [
        Row(
            f"end of a run of {lengths[0]:,} pages: CPU, against the rest of the run in the scheduler alone",
            statistics.median(one.share for one in few),
            "×",
            0.05,
            detail=f"{end * 1000:.1f} ms of {run * 1000:.0f} ms",
        ),
        Row(
            "end of a run: messages more where the run has four times the pages",
            float(many[0].messages - few[0].messages),
            "",
            0.0,
            detail=f"{few[0].messages} for a run on 3 shards",
        ),
        Row(
            "end of a run: CPU of the pass over the log, for each further entry",
            longer / (lengths[1] - lengths[0]) * 1e6,
            "µs",
            None,
        ),
        Row(
            f"launch, end and adaptive step of a job's run of {lengths[0]:,} pages, against the rest",
            statistics.median(one.share for one in jobs),
            "×",
            0.05,
            detail=f"{own * 1000:.1f} ms of {whole * 1000:.0f} ms",
        ),
    ]


def _cost_of(
    pages: int, run: Callable[[int], Coroutine[Any, Any, int]] | None = None, *loops: type[Any]
) -> RunCost:
    """Measure a run; by default one of seeds, of which the end alone is counted."""
    cost = RunCost()
    with ExitStack() as patches:
        for loop in loops or (RunEndingLoop,):
            patches.enter_context(patch.object(loop, "run_once", _timed(loop.run_once, cost)))
        began = time.process_time()
        cost.messages = simulate((run or _run)(pages))
        cost.whole = time.process_time() - began
    return cost


def _timed(run_once: Callable[[Any], Coroutine[Any, Any, Any]], cost: RunCost) -> Any:
    async def timed(loop: Any) -> Any:
        return await _stepped(run_once(loop), cost)

    return timed


async def _run_of_job(pages: int) -> int:
    world = JobWorld(_web(pages))
    (start,), world.web.starts = world.web.starts, ()
    await world.begin()
    await world.save_source("job", start, scope="any")
    world.store.add(job_id="job", source_id="job", url=start, interval_minutes=60)
    scheduler = world.start()
    await world.until_finished("job-1")
    assert world.store.executions["job-1"].items_crawled == pages, world.store.executions
    assert "job" in world.copies.states
    await scheduler.kill()
    return len(world.published(JOB_EVENTS))


async def _run(pages: int) -> int:
    world = EndingWorld(_web(pages))
    await world.begin_seeds()
    scheduler = world.start()
    await world.send_seeds(*world.web.starts)
    await world.command("close")
    end = await world.until_ended()
    assert end.pages == pages, end
    await scheduler.kill()
    return len(world.published(JOB_EVENTS)) + len(world.published(JOB_COMMANDS))


def _web(pages: int) -> Web:
    """Return a site of many hosts, so that no time passes in which a scheduler only waits."""
    hosts = [f"www.site{number}.test" for number in range(pages // PAGES_OF_A_HOST)]
    urls = [f"http://{host}/{number}" for host in hosts for number in range(PAGES_OF_A_HOST)]
    links = {url: Page(url) for url in urls} | {urls[0]: Page(urls[0], links=tuple(urls[1:]))}
    return Web({host: Host(host) for host in hosts}, links, (urls[0],))


@coroutine
def _stepped(work: Coroutine[Any, Any, Any], cost: RunCost) -> Generator[Any, Any, Any]:
    """Await some work, and add the CPU of its own steps: others run while it waits."""
    send, value = work.send, None
    while True:
        began = time.process_time()
        try:
            waited = send(value)
        except StopIteration as stop:
            return stop.value
        finally:
            cost.ending += time.process_time() - began
        try:
            value, send = (yield waited), work.send
        except BaseException as failure:  # noqa: BLE001  # what is thrown in goes to the work
            value, send = failure, work.throw
