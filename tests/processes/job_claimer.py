"""A scheduler's part in launching jobs, as a process that can be killed: `job_claimer DSN FILE TOKEN MODE`.

It claims due jobs and stale locks, appends each execution to FILE in place of publishing its run, and marks
it as launched, until nothing is due or locked. MODE is where it kills or stops itself:

    work             nowhere
    die-claimed      after its first claim
    die-published    after its first append, before the mark
    die-marked       after some marks
    stop-claimed     SIGSTOP after its first claim; continued, it marks what it had claimed
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

from strider.jobs.postgres import PostgresJobStore
from strider.storage.postgres import Postgres, PostgresOptions

BATCH = 40
STALE_MS = 2_000
MARKS = 7


class Claimer:
    """Claims, appends and marks."""

    def __init__(self, store: PostgresJobStore, path: Path, *, token: str, mode: str) -> None:
        self._store, self._token, self._mode = store, token, mode
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self._marks = 0

    async def run(self) -> None:
        while True:
            now = await self._store.now_ms()
            launches = [
                *await self._store.claim_due(now_ms=now, limit=BATCH, token=self._token),
                *await self._store.claim_unlaunched(
                    now_ms=now, older_than_ms=STALE_MS, limit=BATCH, token=self._token
                ),
            ]
            if launches:
                self._end_here("claimed")
            for launch in launches:
                await self._launch(launch.execution.execution_id, now)
            metrics = await self._store.metrics(now_ms=now)
            if not launches and metrics.due + metrics.launching == 0:
                return
            if not launches:
                await asyncio.sleep(0.05)

    async def _launch(self, execution_id: str, now_ms: int) -> None:
        self._append("published", execution_id)
        self._end_here("published")
        marked = await self._store.mark_launched([execution_id], token=self._token, now_ms=now_ms)
        self._append("marked" if marked else "refused", execution_id)
        self._marks += 1
        if self._marks >= MARKS:
            self._end_here("marked")

    def _append(self, what: str, execution_id: str) -> None:
        os.write(self._file, f"{self._token} {what} {execution_id}\n".encode())

    def _end_here(self, step: str) -> None:
        if self._mode == f"die-{step}":
            os.kill(os.getpid(), signal.SIGKILL)
        if self._mode == f"stop-{step}":
            self._mode = "work"
            self._append("stops", "-")
            os.kill(os.getpid(), signal.SIGSTOP)


async def main(dsn: str, path: str, token: str, mode: str) -> None:
    """Claim until everything is launched."""
    postgres = Postgres(PostgresOptions(dsn, max_connections=2))
    try:
        await Claimer(PostgresJobStore(postgres), Path(path), token=token, mode=mode).run()
    finally:
        await postgres.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
