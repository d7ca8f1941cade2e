"""Publishes commands about runs: a cancelled job's run is cancelled at once.

The schedulers cancel the run of a cancelled job as well, from its record; this makes it a matter of
milliseconds. So a broker that does not respond delays the cancellation, and fails no request.
"""

from __future__ import annotations

import asyncio
from typing import Final

from strider.api import log_events
from strider.contracts.generated.enums import JobEvent as JobEventKind
from strider.contracts.generated.topics import JOB_COMMANDS
from strider.crawl.runs.commands import new_command
from strider.messaging.effects import Publish
from strider.messaging.errors import Unavailable
from strider.messaging.ports import Clock, epoch_ms
from strider.runtime.observability.logging import logger
from strider.runtime.publishing.publisher import EventPublisher

TIMEOUT_SECONDS: Final = 2.0
REASON: Final = "the job was cancelled"

_log = logger("api")


class KafkaRunCommands:
    """Publishes commands to job-commands."""

    def __init__(self, publisher: EventPublisher, clock: Clock) -> None:
        self._publisher = publisher
        self._clock = clock

    async def cancel(self, job_id: str, execution_id: str, *, by: str) -> None:
        """Cancel a run; where the broker does not respond, the schedulers do so later."""
        event = new_command(
            JobEventKind.CANCEL,
            by=by,
            now_ms=epoch_ms(self._clock),
            job_id=job_id,
            execution_id=execution_id,
            reason=REASON,
        )
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                await self._publisher.publish([Publish(JOB_COMMANDS, event)])
        except (Unavailable, TimeoutError) as failure:
            _log.emit(log_events.RUN_CANCELLATION_DELAYED, execution_id=execution_id, why=str(failure)[:300])
