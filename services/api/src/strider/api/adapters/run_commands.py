"""Publishes commands about runs: a cancelled job's run is cancelled at once.

The schedulers cancel the run of a cancelled job as well, from its record; this makes it a matter of
milliseconds. So a broker that does not respond delays the cancellation, and fails no request.
"""

from __future__ import annotations

import asyncio
from typing import Final

from strider.api import log_events
from strider.contracts.generated.enums import JobEvent as JobEventKind
from strider.contracts.generated.events import JobEvent
from strider.contracts.generated.topics import JOB_COMMANDS
from strider.contracts.seed_names import feed_run_of
from strider.crawl.runs.commands import new_command
from strider.messaging.effects import Publish
from strider.messaging.errors import Unavailable
from strider.messaging.ports import Clock, epoch_ms
from strider.runtime.observability.logging import logger
from strider.runtime.publishing.publisher import EventPublisher

TIMEOUT_SECONDS: Final = 2.0
_REASONS: Final = {
    JobEventKind.CANCEL: "the job was cancelled",
    JobEventKind.PAUSE: "the job was paused",
    JobEventKind.RESUME: "the job was resumed",
}

_log = logger("api")


class KafkaRunCommands:
    """Publishes commands to job-commands."""

    def __init__(self, publisher: EventPublisher, clock: Clock) -> None:
        self._publisher = publisher
        self._clock = clock

    async def cancel(self, job_id: str, execution_id: str, *, by: str) -> None:
        """Cancel a run; where the broker does not respond, the schedulers do so later."""
        event = self._new_command(JobEventKind.CANCEL, job_id, execution_id, by)
        if why := await self._publish(event):
            _log.emit(log_events.RUN_CANCELLATION_DELAYED, execution_id=execution_id, why=why)

    async def command_feeds(self, what: JobEventKind, job_id: str, *, by: str) -> None:
        """Pause, resume or cancel the polling of feeds; where the broker does not respond, a person must."""
        run = feed_run_of(job_id)
        if why := await self._publish(self._new_command(what, job_id, run, by)):
            _log.emit(log_events.FEED_COMMAND_LOST, execution_id=run, what=what.value, why=why)

    def _new_command(self, what: JobEventKind, job_id: str, execution_id: str, by: str) -> JobEvent:
        return new_command(
            what,
            by=by,
            now_ms=epoch_ms(self._clock),
            job_id=job_id,
            execution_id=execution_id,
            reason=_REASONS[what],
        )

    async def _publish(self, event: JobEvent) -> str:
        """Publish a command; return why that failed, empty where it did not."""
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                await self._publisher.publish([Publish(JOB_COMMANDS, event)])
        except (Unavailable, TimeoutError) as failure:
            return str(failure)[:300] or type(failure).__name__
        return ""
