"""Pool of killable worker processes that parse pages.

Pages wait in one queue; each worker holds a few of them, so that it never waits for the parent, and responds
in order: the first page without a response is the one it is parsing. A page that takes too long, too much
memory or crashes its process costs only itself: the others go to the next worker. Decides which worker parses
which page and which page was the reason of an exit; `supervisor` starts and stops workers.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from strider.contracts import DecodeError
from strider.contracts.avro.codec import Codec, EncodedMessage
from strider.contracts.avro.framing import single_object_prefix
from strider.contracts.fast_dataclass import replace_fields
from strider.contracts.generated.enums import ParseOutcome
from strider.contracts.generated.events import PageFetched, PageParsed
from strider.contracts.generated.topics import PAGES_FETCHED, PAGES_PARSED
from strider.messaging.errors import Unavailable
from strider.messaging.ports import Clock, Record
from strider.parser import log_events
from strider.parser.core import (
    DEFAULT_OPTIONS,
    PARSER,
    PARSER_VERSION,
    PageOptions,
    ParseFailure,
    unreadable_page,
)
from strider.parser.core.site_parser_fields import parse_attribution
from strider.parser.topology import WALL_CLOCK_FACTOR, ParsedPage
from strider.runtime.observability.logging import logger

from .process import WorkerExit, WorkerProcess
from .protocol import (
    FAILED,
    PARSED_PART,
    PARSED_WITH_TEXTS,
    READY,
    RECYCLING,
    ParseRequest,
    WorkerResponse,
    encode_request,
)
from .supervisor import DEPENDENCY, WorkerSupervisor
from .worker import MIB, WorkerConfig

MAX_QUEUED_PAGES: Final = 16
"""All pages that its share of the loop has in progress: new ones arrive while it parses the second half."""

MAX_QUEUED_BYTES: Final = 2 * MIB
"""Bytes queued at one worker, at most."""

MAX_LOGGED_URL_CHARS: Final = 500

_log = logger("parser")


class ParserFault(Exception):
    """The parser has a bug that a page triggers; the message is the worker's traceback."""


@dataclass(slots=True, eq=False)
class _ParseJob:
    page: PageFetched
    frame: list[bytes]
    size_bytes: int
    result: asyncio.Future[ParsedPage]
    worker_exits: int = 0
    earlier_parts: list[WorkerResponse] = field(default_factory=list)
    """The parts that have arrived so far."""


@dataclass(slots=True, eq=False)
class _WorkerQueue:
    """A worker and its queued jobs; it is parsing the first one."""

    worker: WorkerProcess
    jobs: deque[_ParseJob] = field(default_factory=deque)
    size_bytes: int = 0
    current_seconds: float = 0.0

    def append(self, job: _ParseJob) -> None:
        if not self.jobs:
            self.current_seconds = 0.0
        self.jobs.append(job)
        self.size_bytes += job.size_bytes

    def pop(self) -> _ParseJob:
        job = self.jobs.popleft()
        self.size_bytes -= job.size_bytes
        self.current_seconds = 0.0
        return job

    def has_capacity(self, size_bytes: int, *, pages: int) -> bool:
        return not self.jobs or (len(self.jobs) < pages and self.size_bytes + size_bytes <= MAX_QUEUED_BYTES)


class ParserWorkerPool:
    """Parses pages in a number of worker processes."""

    def __init__(
        self,
        config: WorkerConfig,
        codec: Codec,
        *,
        workers: int,
        clock: Clock,
        environ: Mapping[str, str],
        returns_events: bool = False,
    ) -> None:
        """`returns_events`: return whole events instead of encoded ones, for a bus that carries objects."""
        self._config = config
        self._codec = codec
        self._clock = clock
        self._returns_events = returns_events
        self._pending: deque[_ParseJob] = deque()
        self._queues: dict[WorkerProcess, _WorkerQueue] = {}
        self._deadline_task: asyncio.Task[None] | None = None
        self._is_dispatching = False
        self._supervisor = WorkerSupervisor(
            config,
            count=workers,
            environ=environ,
            on_response=self._on_response,
            on_started=self._on_started,
            on_exit=self._on_exit,
            on_no_workers=self._fail_all,
        )

    async def start(self) -> None:
        """Start the workers; raises Unavailable where that fails."""
        if self._deadline_task is None:
            self._deadline_task = asyncio.create_task(self._enforce_deadlines())
        await self._supervisor.start()

    async def parse(
        self, page: PageFetched, record: Record, body: bytes, *, options: PageOptions = DEFAULT_OPTIONS
    ) -> ParsedPage:
        """Parse a page in a worker; raises Unavailable while no worker can be started."""
        if not self._queues:
            await self.start()
        event, has_body = self._encoded_event(page, record)
        chunks = encode_request(ParseRequest(event, b"" if has_body else body, options))
        job = _ParseJob(page, chunks, sum(map(len, chunks)), asyncio.get_running_loop().create_future())
        self._pending.append(job)
        self._dispatch_soon()
        return await job.result

    async def close(self) -> None:
        """Stop the workers; pending pages fail with Unavailable."""
        if self._deadline_task is not None:
            self._deadline_task.cancel()
            await asyncio.wait((self._deadline_task,))
        await self._supervisor.close()
        self._fail_all(Unavailable(DEPENDENCY, "the parser is closing"))

    @property
    def pids(self) -> tuple[int, ...]:
        """The process ids of the workers."""
        return tuple(worker.pid for worker in self._supervisor.workers)

    def _encoded_event(self, page: PageFetched, record: Record) -> tuple[bytes, bool]:
        """Return the event as a worker can decode it, without schema registry or foreign schemas.

        Also whether its body is in it: an event that is encoded here leaves it out, and the body is sent
        beside it.
        """
        ours = self._codec.schema_store.current(PAGES_FETCHED.schema_name).fingerprint
        prefix = single_object_prefix(ours)
        value = record.value
        if isinstance(value, bytes):
            if value.startswith(prefix):
                return value, not page.body_object
            written_with, start = self._codec.locate_event(PAGES_FETCHED, value, record.headers)
            if written_with == ours:
                return prefix + value[start:], not page.body_object
        opening, _ = self._codec.message_prefix(PAGES_FETCHED)
        bare = replace(page, body=b"")
        return prefix + self._codec.encode(PAGES_FETCHED, bare).value[len(opening) :], False

    def _dispatch_soon(self) -> None:
        """Dispatch once for all pages that arrive in this iteration of the event loop, to write them
        together.
        """
        if not self._is_dispatching:
            self._is_dispatching = True
            asyncio.get_running_loop().call_soon(self._dispatch)

    def _dispatch(self) -> None:
        self._is_dispatching = False
        filled: dict[_WorkerQueue, list[bytes]] = {}
        while self._pending and self._queues:
            job = self._pending[0]
            queue = min(self._queues.values(), key=lambda each: len(each.jobs))
            # Refilled only when half empty, so that several requests are written at once.
            if not queue.has_capacity(
                job.size_bytes, pages=MAX_QUEUED_PAGES if queue in filled else MAX_QUEUED_PAGES // 2 + 1
            ):
                break
            self._pending.popleft()
            if not job.result.done():  # else the request was cancelled
                queue.append(job)
                filled.setdefault(queue, []).extend(job.frame)
        for queue, chunks in filled.items():
            queue.worker.send(chunks)

    def _on_started(self, worker: WorkerProcess) -> None:
        self._queues[worker] = _WorkerQueue(worker)
        self._dispatch_soon()

    def _on_response(self, worker: WorkerProcess, response: WorkerResponse) -> None:
        queue = self._queues.get(worker)
        if queue is None or response.kind == READY:
            return
        if response.kind == RECYCLING:
            del self._queues[worker]
            self._requeue(queue)
        elif response.kind == PARSED_PART and queue.jobs:
            queue.jobs[0].earlier_parts.append(response)
            return
        elif queue.jobs:
            self._resolve(queue.pop(), response)
        self._dispatch_soon()

    def _resolve(self, job: _ParseJob, response: WorkerResponse) -> None:
        if job.result.done():
            return
        if response.kind == FAILED:
            job.result.set_exception(ParserFault(response.event.decode("utf-8", "replace")))
            return
        try:
            parsed = self._parsed_page(job.page, response)
            if job.earlier_parts:
                earlier = tuple(self._parsed_page(job.page, part) for part in job.earlier_parts)
                parsed = replace_fields(parsed, earlier_parts=earlier)
            job.result.set_result(replace_fields(parsed, cost_seconds=response.cost_us / 1e6))
        except DecodeError as failure:
            job.result.set_exception(ParserFault(str(failure)))

    def _parsed_page(self, page: PageFetched, response: WorkerResponse) -> ParsedPage:
        if self._returns_events or response.kind == PARSED_WITH_TEXTS:
            event = self._codec.decode(PAGES_PARSED, response.event)
            return ParsedPage(event, texts=response.texts, reader=parse_attribution(response.reader))
        value, (opening, headers) = response.event, self._codec.message_prefix(PAGES_PARSED)
        if not value.startswith(opening):  # framed for a schema registry, which workers do not use
            _, start = self._codec.locate_event(PAGES_PARSED, value)
            value = opening + value[start:]
        encoded = EncodedMessage(value, headers)
        return ParsedPage(
            _routing_event(page, response.outcome), encoded, reader=parse_attribution(response.reader)
        )

    def _on_exit(self, worker: WorkerProcess, worker_exit: WorkerExit) -> None:
        """Find the page that caused an exit, and continue without the worker."""
        queue = self._queues.pop(worker, None)
        if queue is not None and queue.jobs:
            job = queue.pop()
            _log.emit(
                log_events.PARSER_WORKER_DIED,
                outcome=worker_exit.outcome,
                why=worker_exit.message,
                url=job.page.url[:MAX_LOGGED_URL_CHARS],
            )
            self._resolve_exit(job, worker_exit)
        if queue is not None:
            self._requeue(queue)
        self._dispatch_soon()

    def _resolve_exit(self, job: _ParseJob, worker_exit: WorkerExit) -> None:
        """Give the page an outcome; the first time only where nothing else may have killed the worker."""
        job.worker_exits += 1
        job.earlier_parts.clear()  # the next worker sends all parts again
        if worker_exit.may_be_external and job.worker_exits == 1:
            self._pending.appendleft(job)
        elif not job.result.done():
            event = unreadable_page(job.page, ParseFailure(worker_exit.outcome, worker_exit.message))
            job.result.set_result(ParsedPage(event, cost_seconds=self._config.page_seconds))

    def _requeue(self, queue: _WorkerQueue) -> None:
        self._pending.extendleft(reversed(queue.jobs))
        queue.jobs.clear()

    def _fail_all(self, reason: Unavailable) -> None:
        jobs = [*self._pending, *(job for queue in self._queues.values() for job in queue.jobs)]
        self._pending.clear()
        self._queues.clear()
        for job in jobs:
            if not job.result.done():
                job.result.set_exception(reason)

    async def _enforce_deadlines(self) -> None:
        """Kill workers that parse one page for too long by the wall clock.

        Time in which this process itself did not run (SIGSTOP, an overloaded machine) does not count.
        """
        deadline_seconds = WALL_CLOCK_FACTOR * self._config.page_seconds
        interval_seconds = min(0.25, deadline_seconds / 8)
        overdue = WorkerExit(ParseOutcome.TIMED_OUT, f"took longer than {deadline_seconds:g} s")
        while True:
            before = self._clock.monotonic()
            await self._clock.sleep(interval_seconds)
            passed = min(self._clock.monotonic() - before, 2 * interval_seconds)
            for queue in [*self._queues.values()]:
                queue.worker.collect_responses()  # responses before a slow page have had no notification
                if queue.jobs:
                    queue.current_seconds += passed
                    if queue.current_seconds > deadline_seconds:
                        queue.worker.kill(overdue)


def _routing_event(page: PageFetched, outcome: str) -> PageParsed:
    """Return the fields that key, partition and headers follow from; the rest is in the encoded event."""
    return PageParsed(
        url=page.url,
        url_key=page.url_key,
        origin=page.origin,
        group=page.group,
        job_id=page.job_id,
        execution_id=page.execution_id,
        crawl_spec_id=page.crawl_spec_id,
        fetch_sequence=page.fetch_sequence,
        outcome=outcome,
        parser=PARSER,
        parser_version=PARSER_VERSION,
        fetched_at_ms=page.fetched_at_ms,
    )
