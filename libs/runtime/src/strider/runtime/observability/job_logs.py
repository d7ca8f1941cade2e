"""Job logs: log lines with a job id, copied to a sink.

Logging must never hold up work: lines wait in a bounded queue, a full queue drops and counts, and a sink that
is unavailable costs its lines and nothing else. The sink decides where the lines are stored.
"""

from __future__ import annotations

import json
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from strider.messaging.errors import Unavailable
from strider.messaging.ports import Clock

QUEUE_LINES: Final = 10_000
"""Lines that may wait for the sink: about 5 MB of them."""
BATCH_LINES: Final = 500
MAX_RUN_LINES: Final = 100
"""Lines of one run between two drains: a run of many lines must not push out those of others."""
DRAIN_INTERVAL_SECONDS: Final = 0.25
"""How long a line may wait before a reader who follows a job's log sees it."""
SINK_RETRY_SECONDS: Final = 5.0
"""How long an unavailable sink is left alone."""


@dataclass(frozen=True, slots=True)
class JobLogLine:
    """One line of a job's log."""

    job_id: str
    ts: str
    level: str
    event: str
    text: str
    """The whole line as JSON, as the stream has it."""
    run: str = ""
    """The run that it is about; empty where it is about a job."""


class JobLogSink(Protocol):
    """Store for the lines of jobs."""

    async def write(self, lines: Sequence[JobLogLine]) -> None:
        """Store the lines, in order. Raises Unavailable where it cannot."""


class JobLogCapture:
    """Takes lines from any thread at once, and passes them to the sink in batches."""

    def __init__(
        self,
        *,
        clock: Clock,
        on_dropped: Callable[[int], None] = lambda _lines: None,
        capacity: int = QUEUE_LINES,
    ) -> None:
        self._clock = clock
        self._on_dropped = on_dropped
        self._capacity = capacity
        self._queue: deque[JobLogLine] = deque()
        self._lines_of_run: Counter[str] = Counter()
        """Since the queue was drained last."""

    def __call__(self, event: Mapping[str, Any]) -> None:
        """Queue a line, or drop it where too many wait already."""
        run = str(event.get("execution_id", ""))
        if len(self._queue) >= self._capacity or self._lines_of_run[run] >= MAX_RUN_LINES:
            self._on_dropped(1)
            return
        self._lines_of_run[run] += 1
        self._queue.append(
            JobLogLine(
                job_id=str(event["job_id"]),
                ts=str(event.get("ts", "")),
                level=str(event.get("level", "")),
                event=str(event.get("event", "")),
                text=json.dumps(event, default=repr),
                run=run,
            )
        )

    async def run(self, sink: JobLogSink) -> None:
        """Pass lines to the sink until cancelled; the rest is sent with `drain`."""
        while True:
            kept = await self.drain(sink)
            await self._clock.sleep(DRAIN_INTERVAL_SECONDS if kept else SINK_RETRY_SECONDS)

    async def drain(self, sink: JobLogSink) -> bool:
        """Send the queued lines; False where the sink is unavailable and a batch was lost."""
        self._lines_of_run.clear()
        while self._queue:
            batch = [self._queue.popleft() for _ in range(min(BATCH_LINES, len(self._queue)))]
            try:
                await sink.write(batch)
            except Unavailable:
                self._on_dropped(len(batch))
                return False
        return True
