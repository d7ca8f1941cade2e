"""All loops of jobs: they need PostgreSQL, and nothing else of the scheduler waits for them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence

from strider.crawl.runs.control import RunControl
from strider.messaging.ports import Clock
from strider.runtime.publishing.publisher import EventPublisher
from strider.scheduler.core.jobs.ended_runs import EndedRuns
from strider.scheduler.handlers.job_commands import JobCommandsHandler
from strider.scheduler.handlers.sources import SourcesHandler
from strider.scheduler.options import SchedulerOptions
from strider.scheduler.ports import CompletionOffsetSource, JobPorts
from strider.scheduler.shard.shard import OwnedShard

from .adaptive_states import AdaptiveStates
from .completion import JobCompletionLoop
from .poll import JobPollLoop
from .unclosed_runs import UnclosedRunCheck
from .upkeep import JobUpkeepLoop


class JobLoops:
    """Launches jobs, finishes their executions, measures them."""

    def __init__(
        self,
        ports: JobPorts,
        *,
        ended_runs: EndedRuns,
        run_control: RunControl,
        commands: JobCommandsHandler,
        sources: SourcesHandler,
        owned_shards: Callable[[], Sequence[OwnedShard]],
        completion_offsets: CompletionOffsetSource | None,
        publisher: EventPublisher,
        options: SchedulerOptions,
        clock: Clock,
    ) -> None:
        self._ports = ports
        self._run_control = run_control
        self._commands = commands
        self._sources = sources
        self._publisher = publisher
        self._options = options
        self._clock = clock
        unclosed = self._new_unclosed_check(completion_offsets)
        self.completion = self._new_completion(ended_runs, owned_shards, unclosed)
        self.poll = self._new_poll()
        self.upkeep = JobUpkeepLoop(ports.store, options=options.jobs, meter=ports.meter, clock=clock)

    def _new_unclosed_check(self, offsets: CompletionOffsetSource | None) -> UnclosedRunCheck:
        return UnclosedRunCheck(
            self._ports.store,
            offsets,
            run_control=self._run_control,
            catch_up=self._commands.catch_up,
            launch_again=self._launch_again,
            shards=self._options.shards,
            publisher=self._publisher,
            options=self._options.jobs,
            meter=self._ports.meter,
            clock=self._clock,
        )

    def _new_completion(
        self,
        ended_runs: EndedRuns,
        owned_shards: Callable[[], Sequence[OwnedShard]],
        unclosed: UnclosedRunCheck,
    ) -> JobCompletionLoop:
        return JobCompletionLoop(
            self._ports.store,
            ended_runs=ended_runs,
            run_control=self._run_control,
            states=AdaptiveStates(self._ports.adaptive_states, self._ports.adaptive_copies),
            find_source=self._sources.find,
            catch_up=self._commands.catch_up,
            catch_up_sources=self._sources.catch_up,
            owned_shards=owned_shards,
            shards=self._options.shards,
            unclosed=unclosed,
            publisher=self._publisher,
            options=self._options.jobs,
            meter=self._ports.meter,
            clock=self._clock,
        )

    def _new_poll(self) -> JobPollLoop:
        return JobPollLoop(
            self._ports.store,
            self._ports.runs,
            find_source=self._sources.find,
            catch_up_sources=self._sources.catch_up,
            is_over=self._run_control.is_completed,
            on_launched=self.completion.note_launched,
            options=self._options.jobs,
            allow_private=self._options.allow_private,
            meter=self._ports.meter,
            clock=self._clock,
        )

    def _launch_again(self, execution_ids: Iterable[str]) -> None:
        self.poll.launch_again(execution_ids)

    async def run(self) -> None:
        """Run all loops until cancelled."""
        loops = {
            "launch jobs": self.poll.run,
            "finish jobs": self.completion.run,
            "measure jobs": self.upkeep.run,
        }
        async with asyncio.TaskGroup() as together:
            for name, run in loops.items():
                together.create_task(run(), name=name)
