"""The API's routes on fakes of their ports, and clients of them."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from functools import cache
from typing import Any

import httpx
from fastapi import FastAPI

from strider.api.core import (
    RequestRecord,
    RunRecord,
    SqlQuery,
    public_figures,
    read_record,
    write_record,
)
from strider.api.routes import (
    ApiParts,
    FrontierRuns,
    Idempotency,
    JobRules,
    SeedLimits,
    SeedSubmission,
    SessionRules,
    TokenVerifier,
    build_app,
)
from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.events import JobEvent, SeedSubmitted
from strider.contracts.generated.topics import SEEDS_SUBMITTED
from strider.contracts.owner_signature import SenderRole
from strider.crawl.runs.control import RunControl, RunDirective
from strider.runtime.sessions import Session
from strider.storage.encryption import HeaderCipher
from strider.testing.callers import JWT_SECRET, bearer
from strider.urls import url_hash, url_key_of

from .jobs.memory_store import KeptRunCommands, MemoryJobs
from .kept_sources import KeptSources

CODEC = Codec(SchemaStore.bundled())
NOW_MS = 1_700_000_000_000
AT = datetime(2026, 11, 18, 12, 0, 0, 5000, tzinfo=UTC)
KEY = url_hash(url_key_of("https://a.test/x"))
JSON = {"content-type": "application/json"}


@dataclass
class KeptDoor:
    """Keeps what is submitted, or fails."""

    submitted: list[SeedSubmitted] = field(default_factory=list)
    failure: Exception | None = None

    async def publish(self, seeds: Sequence[SeedSubmitted]) -> None:
        if self.failure is not None:
            raise self.failure
        self.submitted += seeds


@dataclass
class GivenRecords:
    """Answers every query with the same rows, or fails."""

    rows: list[Mapping[str, Any]] = field(default_factory=list)
    tables: dict[str, list[Mapping[str, Any]]] = field(default_factory=dict)
    """Rows of single tables, in place of those of all."""
    asked: list[SqlQuery] = field(default_factory=list)
    failure: Exception | None = None

    async def find(self, query: SqlQuery) -> Sequence[Mapping[str, Any]]:
        self.asked.append(query)
        if self.failure is not None:
            raise self.failure
        return next(
            (rows for table, rows in self.tables.items() if f" FROM {table} " in query.sql), self.rows
        )

    async def delete(self, statement: SqlQuery) -> bool:
        return bool(await self.find(statement))


@dataclass
class GivenLeases:
    """Has so many stale ones, or fails."""

    failure: Exception | None = None
    asked: list[int] = field(default_factory=list)

    async def recover(self, *, older_than_seconds: int) -> int:
        self.asked.append(older_than_seconds)
        if self.failure is not None:
            raise self.failure
        return 7


@dataclass
class NoRuns:
    """Knows no run, and keeps commands about URLs."""

    commands: list[JobEvent] = field(default_factory=list)
    cancelled: int = 0
    where: Sequence[str] | Exception = ()

    async def find(self, execution_id: str) -> RunRecord | None:
        return None

    async def publish(self, command: JobEvent) -> None:
        assert command.what == "cancel_url", command
        self.commands.append(command)

    def cancelled_urls(self) -> int:
        return self.cancelled

    def url_cancellation(self, execution_id: str, url_key: str) -> RunDirective | None:
        control = RunControl()
        for command in self.commands:
            control.apply(command)
        return control.url_directive(execution_id, url_key)

    async def places(self, shard: int, entry_ids: Sequence[str]) -> Sequence[str]:
        if isinstance(self.where, Exception):
            raise self.where
        return [*self.where, *[""] * len(entry_ids)][: len(entry_ids)]

    def now_ms(self) -> int:
        return NOW_MS


@dataclass
class GivenCondition:
    is_ready: bool = True

    def report(self) -> dict[str, Any]:
        state = {"ok": self.is_ready, "why": "secret inside", "for_seconds": 1}
        return {"ready": self.is_ready, "dependencies": {"kafka": state}}


@dataclass
class KeptResponses:
    """Keeps records as Redis does, without their end, or fails."""

    records: dict[str, bytes] = field(default_factory=dict)
    failure: Exception | None = None
    failure_at_the_end: Exception | None = None

    async def begin(self, scope: str, record: RequestRecord) -> RequestRecord | None:
        if self.failure is not None:
            raise self.failure
        if scope in self.records:
            return read_record(self.records[scope])
        self.records[scope] = write_record(record)
        return None

    async def finish(self, scope: str, begun: RequestRecord, done: RequestRecord) -> None:
        if self.failure_at_the_end is not None:
            raise self.failure_at_the_end
        if self.records.get(scope) == write_record(begun):
            self.records[scope] = write_record(done)

    async def forget(self, scope: str, begun: RequestRecord) -> None:
        if self.failure_at_the_end is not None:
            raise self.failure_at_the_end
        if self.records.get(scope) == write_record(begun):
            del self.records[scope]


@dataclass
class KeptSessions:
    """Keeps records of sessions, or fails."""

    sessions: dict[str, Session] = field(default_factory=dict)
    failure: Exception | None = None

    async def save(self, session: Session) -> None:
        if self.failure is not None:
            raise self.failure
        self.sessions[session.session_id] = session

    async def find(self, session_id: str) -> Session | None:
        if self.failure is not None:
            raise self.failure
        return self.sessions.get(session_id)

    async def end(self, session_id: str) -> None:
        self.sessions.pop(session_id, None)


class GivenFigures:
    """Has the same figures always."""

    async def read(self) -> Mapping[str, Any]:
        return {**public_figures({"pages": 3, "runs": {"running": 1}}), "at": AT}


@dataclass
class World:
    sessions: KeptSessions = field(default_factory=KeptSessions)
    door: KeptDoor = field(default_factory=KeptDoor)
    records: GivenRecords = field(default_factory=GivenRecords)
    leases: GivenLeases = field(default_factory=GivenLeases)
    jobs: MemoryJobs = field(default_factory=MemoryJobs)
    run_commands: KeptRunCommands = field(default_factory=KeptRunCommands)
    runs: FrontierRuns = field(default_factory=NoRuns)
    condition: GivenCondition = field(default_factory=GivenCondition)
    responses: KeptResponses = field(default_factory=KeptResponses)
    sources: KeptSources = field(default_factory=KeptSources)
    handling_seconds: float = 60.0
    headers_key: str = ""
    sender: SenderRole = SenderRole.OWNER

    def parts(self) -> ApiParts:
        submission = SeedSubmission(
            self.door,
            read=lambda document: CODEC.decode(SEEDS_SUBMITTED, document),
            now_ms=lambda: NOW_MS,
            rules=SeedLimits(max_seeds=3, max_body_bytes=2_000, allow_private=False, sender=self.sender),
            protect_headers=HeaderCipher(self.headers_key).protect,
        )
        return ApiParts(
            submission,
            self.records,
            self.leases,
            self.jobs,
            JobRules(200_000, allow_private=False),
            self.run_commands,
            self.runs,
            self.condition,
            TokenVerifier(JWT_SECRET, now_seconds=time.time),
            SessionRules(self.sessions, JWT_SECRET, is_cookie_secure=False),
            GivenFigures(),
            Idempotency(self.responses, max_body_bytes=2_000, handling_seconds=self.handling_seconds),
            self.sources.parts(),
            version="1.2.3",
            shards=12,
        )


_served: ContextVar[ApiParts] = ContextVar("served")
"""The parts of the client whose request is served now."""


class ServedPart:
    """Stands for the part of this name, whosever request is served."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(getattr(_served.get(), self._name), name)


@cache
def shared_app(version: str, shards: int) -> FastAPI:
    """Build the routes once for all tests, because that costs far more than a test of them."""
    names = [each.name for each in fields(ApiParts) if each.name not in {"version", "live", "shards"}]
    stand_ins: dict[str, Any] = {name: ServedPart(name) for name in names}
    return build_app(ApiParts(**stand_ins, version=version, shards=shards))


def app_of(parts: ApiParts) -> Any:
    """Return an application with these parts."""
    if parts.live is not None:
        return build_app(parts)
    shared = shared_app(parts.version, parts.shards)

    async def serve(scope: Any, receive: Any, send: Any) -> None:
        token = _served.set(parts)
        try:
            await shared(scope, receive, send)
        finally:
            _served.reset(token)

    return serve


def client_of(
    parts: ApiParts, headers: Mapping[str, str] | None = None, base_url: str = "http://127.0.0.1:8060"
) -> httpx.AsyncClient:
    """Return a client; an admin's, where no headers are given."""
    transport = httpx.ASGITransport(app_of(parts), raise_app_exceptions=False)
    return httpx.AsyncClient(
        transport=transport, base_url=base_url, headers=bearer() if headers is None else headers
    )


def problem_of(answer: httpx.Response) -> tuple[int, str]:
    assert answer.headers["content-type"] == "application/problem+json"
    document = answer.json()
    assert document["status"] == answer.status_code
    assert document["title"]
    return answer.status_code, document["detail"]
