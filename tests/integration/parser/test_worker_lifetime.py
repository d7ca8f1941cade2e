"""Workers exit with their parent, and not before."""

from __future__ import annotations

import asyncio
import os
import signal
import sys

import pytest

from strider.messaging.errors import Unavailable

from .worker_pools import ROOT, environ_of, is_running, parse, some_workers, until


async def test_closing_stops_the_workers_and_fails_pending_pages() -> None:
    async with some_workers(2) as parsers:
        pids = parsers.pids
        page = asyncio.create_task(parse(parsers, "/sleep"))
        await until(lambda: all(map(is_running, pids)))
        await asyncio.sleep(0)
        await parsers.close()

        with pytest.raises(Unavailable):
            await page
        assert not any(map(is_running, pids))


async def test_signals_for_the_whole_group_leave_workers_to_their_parent() -> None:
    """Ctrl-C reaches every process of a terminal, but pages in progress must be finished."""
    async with some_workers() as parsers:
        (pid,) = parsers.pids
        os.kill(pid, signal.SIGINT)
        os.kill(pid, signal.SIGTERM)

        assert (await parse(parsers)).event.outcome == "parsed"
        assert parsers.pids == (pid,)


async def test_a_worker_has_no_secrets_in_its_environment() -> None:
    async with some_workers() as parsers:
        environ = environ_of(parsers.pids[0])

    assert b"PYTHONPATH" in environ
    assert b"POSTGRES_DSN" not in environ


PARENT = """
import asyncio, os
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.avro.codec import Codec
from strider.parser.adapters.workers.pool import ParserWorkerPool
from strider.parser.adapters.workers.worker import WorkerConfig
from strider.runtime.clocks import SystemClock

async def main():
    parsers = ParserWorkerPool(
        WorkerConfig(
            os.getpid(),
            page_seconds=60.0,
            reader_factory="tests.integration.parser.hostile_reader:make_reader",
        ),
        Codec(SchemaStore.bundled()), workers=2, clock=SystemClock(), environ=dict(os.environ),
    )
    await parsers.start()
    print(*parsers.pids, flush=True)
    await asyncio.sleep(60)

asyncio.run(main())
"""


async def test_workers_end_with_a_parent_that_is_killed() -> None:
    """The parent cannot stop its workers on SIGKILL."""
    parent = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        PARENT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=asyncio.subprocess.PIPE,
    )
    assert parent.stdout is not None
    pids = [int(word) for word in (await parent.stdout.readline()).split()]
    assert len(pids) == 2
    assert all(map(is_running, pids))
    parent.kill()
    await parent.wait()

    await until(lambda: not any(map(is_running, pids)))
