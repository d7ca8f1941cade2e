"""Launch runs of jobs again that would never end, and fail those that stay open.

The owner of the shard that proves the end of a run looks after it: one process for each.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet

from strider.contracts.generated.topics import JOB_COMMANDS
from strider.crawl.runs.control import RunControl
from strider.jobs.models import JobExecution
from strider.jobs.ports import JobStore
from strider.jobs.states import ExecutionState
from strider.messaging.effects import Publish
from strider.messaging.ports import Clock, epoch_ms
from strider.runtime.observability.logging import logger
from strider.runtime.publishing.publisher import EventPublisher
from strider.scheduler import log_events
from strider.scheduler.core.jobs.launch import cancel_command
from strider.scheduler.core.jobs.unclosed_runs import MAX_RELAUNCHES, UnclosedRuns, failed_result
from strider.scheduler.core.runs.ending_runs import proving_shard
from strider.scheduler.options import JobOptions
from strider.scheduler.ports import CompletionOffsetSource, JobMeter

_log = logger("scheduler")


class UnclosedRunCheck:
    """Looks after runs that are not closed some minutes after their launch."""

    def __init__(
        self,
        store: JobStore,
        offsets: CompletionOffsetSource | None,
        *,
        run_control: RunControl,
        catch_up: Callable[[], Awaitable[None]],
        launch_again: Callable[[Iterable[str]], None],
        shards: int,
        publisher: EventPublisher,
        options: JobOptions,
        meter: JobMeter,
        clock: Clock,
    ) -> None:
        """Create the check; `catch_up` applies all commands up to now. Without offsets it finds nothing."""
        self._store = store
        self._offsets = offsets
        self._run_control = run_control
        self._catch_up = catch_up
        self._launch_again = launch_again
        self._shards = shards
        self._publisher = publisher
        self._relaunch_ms = round(options.relaunch_seconds * 1000)
        self._meter = meter
        self._clock = clock
        self._unclosed = UnclosedRuns()

    def overdue(
        self, executions: Sequence[JobExecution], *, owned: AbstractSet[int], now_ms: int
    ) -> list[JobExecution]:
        """Return the executions that are to be looked after here."""
        launched_before_ms = now_ms - self._relaunch_ms
        return [
            each
            for each in executions
            if each.launched_at_ms is not None
            and each.launched_at_ms <= launched_before_ms
            and not self._is_closed(each)
            and proving_shard(each.execution_id, self._shards) in owned
        ]

    async def run_once(self, overdue: Sequence[JobExecution]) -> None:
        """Launch overdue runs again whose closing message had no effect, or fail their executions."""
        if self._offsets is None or not overdue:
            self._unclosed = UnclosedRuns()
            return
        offsets = await self._offsets.read_completion_offsets()
        await self._catch_up()  # what link-ingestion closed before it committed these is known now
        lost = [each for each in self._unclosed.without_effect(overdue, offsets) if not self._is_closed(each)]
        self._launch_again(each.execution_id for each in lost if each.relaunches < MAX_RELAUNCHES)
        for each in lost:
            if each.relaunches >= MAX_RELAUNCHES:
                await self._fail(each)

    def _is_closed(self, execution: JobExecution) -> bool:
        run = execution.execution_id
        return self._run_control.is_ending(run) or self._run_control.is_completed(run)

    async def _fail(self, execution: JobExecution) -> None:
        """End an execution, then cancel its run: what of it was accepted goes, and it has an end."""
        result = failed_result(execution)
        await self._store.finish(execution.execution_id, result, now_ms=await self._store.now_ms())
        self._meter.count_finished(ExecutionState.FAILED)
        _log.emit(
            log_events.JOB_RUN_FINISHED,
            job=execution.job_id,
            run=execution.execution_id,
            outcome=result.outcome.value,
            error=result.error_message,
        )
        cancel = cancel_command(execution, reason=result.error_message, at_ms=epoch_ms(self._clock))
        await self._publisher.publish([Publish(JOB_COMMANDS, cancel)])
