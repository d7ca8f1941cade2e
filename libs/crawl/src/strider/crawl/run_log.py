"""What happens to runs, gathered into few lines: the log of a job must not grow with its pages.

What is noted costs an addition; a line for each run and kind of event is written every few seconds,
with what it was by kind. The lines bear the job's id, so they go to the job's log (`logs_jobs`).
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from typing import Any, Final

from strider.messaging.ports import Clock

FLUSH_SECONDS: Final = 5.0
"""How often lines are written: somebody who follows a run waits no longer."""
MAX_PENDING_EVENTS: Final = 2_000
"""Events of runs that are gathered at a time; what comes beyond is counted as left out."""
MAX_KINDS: Final = 20
"""Of one line; the rarer ones are `other`."""
MAX_KNOWN_RUNS: Final = 10_000


class RunLog:
    """Gathers notes, and tells them."""

    def __init__(self, log: Any, *, clock: Clock) -> None:
        self._log = log
        self._clock = clock
        self._noted: dict[tuple[str, str, str], Counter[str]] = {}
        self._known: OrderedDict[str, None] = OrderedDict()
        self._left_out = 0

    def record(self, event: str, job_id: str, execution_id: str, kind: str = "", count: int = 1) -> None:
        """Note that something happened to a run, so many times, of this kind."""
        if not job_id or not count:
            return
        name = (event, job_id, execution_id)
        kinds = self._noted.get(name)
        if kinds is None:
            if len(self._noted) >= MAX_PENDING_EVENTS:
                self._left_out += count
                return
            kinds = self._noted[name] = Counter()
        if kind not in kinds and len(kinds) >= MAX_KINDS:
            kind = "other"
        kinds[kind] += count

    def flush(self) -> list[tuple[str, str]]:
        """Write a line for each; gives the runs that there was something of, as (job, run)."""
        noted, self._noted = self._noted, {}
        for (event, job_id, execution_id), kinds in noted.items():
            by_kind = {"by_kind": dict(kinds.most_common())} if any(kinds) else {}
            first = {"first_here": True} if self._is_new(execution_id) else {}
            self._log.info(
                event, job_id=job_id, execution_id=execution_id, count=kinds.total(), **by_kind, **first
            )
        if self._left_out:
            self._log.warning("Run events dropped", count=self._left_out, most=MAX_PENDING_EVENTS)
            self._left_out = 0
        return list(dict.fromkeys(name[1:] for name in noted))

    async def run(self) -> None:
        """Tell again and again, until cancelled; what is left then is told at once."""
        try:
            while True:
                await self._clock.sleep(FLUSH_SECONDS)
                self.flush()
        finally:
            self.flush()

    def _is_new(self, execution_id: str) -> bool:
        if execution_id in self._known:
            self._known.move_to_end(execution_id)
            return False
        self._known[execution_id] = None
        if len(self._known) > MAX_KNOWN_RUNS:
            self._known.popitem(last=False)
        return True
