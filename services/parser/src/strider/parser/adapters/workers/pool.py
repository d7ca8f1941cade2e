"""Reads pages in killable processes.

Pages wait in one line; each worker has a few of them at hand, so that it never waits for the
parent, and answers them in order: so the first unanswered one is what it is at. A page that takes
too long, too much memory or its process with it costs itself and nothing else: the others are handed
to the next worker. Decides who reads what and who is to blame; workers come and go by `staff`.
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
from strider.contracts.generated.enums import ParseOutcome
from strider.contracts.generated.events import PageFetched, PageParsed
from strider.contracts.generated.topics import PAGES_FETCHED, PAGES_PARSED
from strider.messaging.errors import Unavailable
from strider.messaging.ports import Clock, Record
from strider.parser.core import PARSER, PARSER_VERSION, ParseFailure, unreadable_page
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

PAGES_AT_HAND: Final = 16
"""All that its part of the loop has in hand: the next ones come while it is at the second half of these."""

MAX_QUEUED_BYTES: Final = 2 * MIB
"""What one worker is given ahead, at most."""

_log = logger("parser")


class ParserFault(Exception):
    """The parser itself failed on a page; the message is the worker's traceback."""


@dataclass(slots=True, eq=False)
class _ParseJob:
    page: PageFetched
    pieces: list[bytes]
    size_bytes: int
    answer: asyncio.Future[ParsedPage]
    deaths: int = 0
    before: list[WorkerResponse] = field(default_factory=list)
    """The parts that have come so far."""


@dataclass(slots=True, eq=False)
class _WorkerQueue:
    """A worker and what it has at hand, the first being what it is at."""

    worker: WorkerProcess
    jobs: deque[_ParseJob] = field(default_factory=deque)
    size_bytes: int = 0
    waited_seconds: float = 0.0

    def give(self, job: _ParseJob) -> None:
        if not self.jobs:
            self.waited_seconds = 0.0
        self.jobs.append(job)
        self.size_bytes += job.size_bytes

    def take(self) -> _ParseJob:
        job = self.jobs.popleft()
        self.size_bytes -= job.size_bytes
        self.waited_seconds = 0.0
        return job

    def has_room(self, size_bytes: int, *, pages: int) -> bool:
        return not self.jobs or (len(self.jobs) < pages and self.size_bytes + size_bytes <= MAX_QUEUED_BYTES)


class WorkerPool:
    """A pool of workers."""

    def __init__(
        self,
        orders: WorkerConfig,
        codec: Codec,
        *,
        workers: int,
        clock: Clock,
        environ: Mapping[str, str],
        gives_events: bool = False,
    ) -> None:
        """`gives_events`: answer whole events instead of encoded ones, for a bus that carries objects."""
        self._orders = orders
        self._codec = codec
        self._clock = clock
        self._returns_events = gives_events
        self._waiting: deque[_ParseJob] = deque()
        self._queues: dict[WorkerProcess, _WorkerQueue] = {}
        self._deadline_task: asyncio.Task[None] | None = None
        self._is_dispatching = False
        self._supervisor = WorkerSupervisor(
            orders,
            count=workers,
            environ=environ,
            on_response=self._on_response,
            on_started=self._on_started,
            on_exit=self._on_exit,
            on_no_workers=self._fail_all,
        )

    async def start(self) -> None:
        """Start the workers; raises Unavailable where that does not work."""
        if self._deadline_task is None:
            self._deadline_task = asyncio.create_task(self._watch())
        await self._supervisor.start()

    async def parse(
        self, page: PageFetched, record: Record, body: bytes, *, extraction: str = ""
    ) -> ParsedPage:
        """Have a page read; raises Unavailable while no worker can be started."""
        if not self._queues:
            await self.start()
        event, has_body = self._event_of(page, record)
        pieces = encode_request(ParseRequest(event, b"" if has_body else body, extraction))
        job = _ParseJob(page, pieces, sum(map(len, pieces)), asyncio.get_running_loop().create_future())
        self._waiting.append(job)
        self._dispatch_soon()
        return await job.answer

    async def close(self) -> None:
        """End the workers; whatever still waits is told so."""
        if self._deadline_task is not None:
            self._deadline_task.cancel()
            await asyncio.wait((self._deadline_task,))
        await self._supervisor.close()
        self._fail_all(Unavailable(DEPENDENCY, "the parser ends"))

    @property
    def pids(self) -> tuple[int, ...]:
        """The processes of the workers."""
        return tuple(worker.pid for worker in self._supervisor.workers)

    def _event_of(self, page: PageFetched, record: Record) -> tuple[bytes, bool]:
        """Give the event as a worker can read it, which knows neither registries nor others' schemas.

        And whether its body is in it: one that is written here goes along instead, whatever its size.
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
        """Hand out what came in this turn of the loop at once, so that it is written together."""
        if not self._is_dispatching:
            self._is_dispatching = True
            asyncio.get_running_loop().call_soon(self._dispatch)

    def _dispatch(self) -> None:
        self._is_dispatching = False
        given: dict[_WorkerQueue, list[bytes]] = {}
        while self._waiting and self._queues:
            job = self._waiting[0]
            desk = min(self._queues.values(), key=lambda each: len(each.jobs))
            # Filled up only when half empty, so that several requests are written at once.
            if not desk.has_room(
                job.size_bytes, pages=PAGES_AT_HAND if desk in given else PAGES_AT_HAND // 2 + 1
            ):
                break
            self._waiting.popleft()
            if not job.answer.done():  # else whoever asked has gone
                desk.give(job)
                given.setdefault(desk, []).extend(job.pieces)
        for desk, pieces in given.items():
            desk.worker.send(pieces)

    def _on_started(self, worker: WorkerProcess) -> None:
        self._queues[worker] = _WorkerQueue(worker)
        self._dispatch_soon()

    def _on_response(self, worker: WorkerProcess, response: WorkerResponse) -> None:
        desk = self._queues.get(worker)
        if desk is None or response.kind == READY:
            return
        if response.kind == RECYCLING:
            del self._queues[worker]
            self._requeue(desk)
        elif response.kind == PARSED_PART and desk.jobs:
            desk.jobs[0].before.append(response)
            return
        elif desk.jobs:
            self._settle(desk.take(), response)
        self._dispatch_soon()

    def _settle(self, job: _ParseJob, response: WorkerResponse) -> None:
        if job.answer.done():
            return
        if response.kind == FAILED:
            job.answer.set_exception(ParserFault(response.event.decode("utf-8", "replace")))
            return
        try:
            parsed = self._parsed(job.page, response)
            if job.before:
                before = tuple(self._parsed(job.page, part) for part in job.before)
                parsed = replace(parsed, before=before)
            job.answer.set_result(parsed)
        except DecodeError as failure:
            job.answer.set_exception(ParserFault(str(failure)))

    def _parsed(self, page: PageFetched, response: WorkerResponse) -> ParsedPage:
        if self._returns_events or response.kind == PARSED_WITH_TEXTS:
            event = self._codec.decode(PAGES_PARSED, response.event)
            return ParsedPage(event, texts=response.texts, reader=parse_attribution(response.reader))
        value, (opening, headers) = response.event, self._codec.message_prefix(PAGES_PARSED)
        if not value.startswith(opening):  # a registry's framing, which workers do not know
            _, start = self._codec.locate_event(PAGES_PARSED, value)
            value = opening + value[start:]
        encoded = EncodedMessage(value, headers)
        return ParsedPage(
            _routing_event(page, response.outcome), encoded, reader=parse_attribution(response.reader)
        )

    def _on_exit(self, worker: WorkerProcess, death: WorkerExit) -> None:
        """Find out whom a death is to be put down to, and go on without the worker."""
        desk = self._queues.pop(worker, None)
        if desk is not None and desk.jobs:
            job = desk.take()
            _log.warning("Worker Died", outcome=death.outcome, why=death.message, url=job.page.url[:500])
            self._judge(job, death)
        if desk is not None:
            self._requeue(desk)
        self._dispatch_soon()

    def _judge(self, job: _ParseJob, death: WorkerExit) -> None:
        """Blame the page that the worker was at; at first not, where others may have ended it."""
        job.deaths += 1
        job.before.clear()  # whoever reads it next says all of it again
        if death.is_foreign and job.deaths == 1:
            self._waiting.appendleft(job)
        elif not job.answer.done():
            event = unreadable_page(job.page, ParseFailure(death.outcome, death.message))
            job.answer.set_result(ParsedPage(event))

    def _requeue(self, desk: _WorkerQueue) -> None:
        self._waiting.extendleft(reversed(desk.jobs))
        desk.jobs.clear()

    def _fail_all(self, reason: Unavailable) -> None:
        jobs = [*self._waiting, *(job for desk in self._queues.values() for job in desk.jobs)]
        self._waiting.clear()
        self._queues.clear()
        for job in jobs:
            if not job.answer.done():
                job.answer.set_exception(reason)

    async def _watch(self) -> None:
        """End workers that are at one page for too long by the clock.

        Time in which this process itself did not run (SIGSTOP, a starved machine) does not count.
        """
        most = WALL_CLOCK_FACTOR * self._orders.page_seconds
        every = min(0.25, most / 8)
        overdue = WorkerExit(ParseOutcome.TIMED_OUT, f"it took longer than {most:g} s")
        while True:
            before = self._clock.monotonic()
            await self._clock.sleep(every)
            passed = min(self._clock.monotonic() - before, 2 * every)
            for desk in [*self._queues.values()]:
                desk.worker.collect_responses()  # what was answered before a page that takes long has had no bell
                if desk.jobs:
                    desk.waited_seconds += passed
                    if desk.waited_seconds > most:
                        desk.worker.kill(overdue)


def _routing_event(page: PageFetched, outcome: str) -> PageParsed:
    """Give what key, partition and headers follow from; the rest is in the encoded event."""
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
