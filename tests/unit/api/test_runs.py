"""Routes of runs, on the states that the topics give, and on a working set of a few runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, replace
from typing import Any

import httpx
import pytest

from strider.api.adapters.run_states import FollowedRuns
from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.events import JobEvent
from strider.contracts.generated.topics import JOB_COMMANDS, JOB_EVENTS, SCHEMAS
from strider.crawl.runs.commands import with_command_id
from strider.frontier.redis.inspection import RunSnapshot, RunsSnapshot
from strider.messaging.effects import Publish, PublishRaw
from strider.messaging.errors import Unavailable
from strider.messaging.inprocess import InProcessBroker, InProcessBus
from strider.runtime.clocks import SeededRandomness, SystemClock
from strider.runtime.publishing.publisher import EventPublisher

from .world import JSON, NOW_MS, World, client_of, problem_of

END = JobEvent(
    "", "run_completed", is_wish=False, at_ms=NOW_MS, by="ann", execution_id="done", job_id="news",
    state_after="completed", pages=3, bytes=900, seconds=60, start_pages=1,
    counts={"accepted": 4, "settled": 3, "budget": 1},
    start_url_keys=("a",), start_raw_hashes=("b",), start_text_hashes=("c",),
)  # fmt: skip


class GivenFrontier:
    """A working set with these runs; counts how often it is read."""

    def __init__(self) -> None:
        self.runs_now = {"spring": RunSnapshot("spring", "news", ("spec",), open=2, accepted=5)}
        self.unready: tuple[int, ...] = ()
        self.failure: Exception | None = None
        self.reads = 0

    async def runs(self, _shards: Iterable[int]) -> RunsSnapshot:
        self.reads += 1
        if self.failure is not None:
            raise self.failure
        return RunsSnapshot(self.runs_now, self.unready)


@dataclass
class RunsWorld(World):
    """The API beside a broker with commands and facts."""

    def __post_init__(self) -> None:
        self.clock = SystemClock()
        self.broker = InProcessBroker(clock=self.clock)
        for topic in (JOB_COMMANDS, JOB_EVENTS, SCHEMAS):
            self.broker.declare_topic(topic, shards=1)
        bus, codec = InProcessBus(self.broker), Codec(SchemaStore.bundled())
        self.codec = codec
        self.publisher = EventPublisher(bus, codec, service="test", shards=1, clock=self.clock)
        self.frontier = GivenFrontier()
        self.followed = self.runs = FollowedRuns(
            InProcessBus(self.broker),
            codec,
            self.frontier,  # type: ignore[arg-type]  # what is read of it
            self.publisher,
            shards=1,
            timeout_seconds=5,
            clock=self.clock,
            chance=SeededRandomness(1),
        )

    async def publish(self, topic: Any, *events: JobEvent) -> None:
        await self.publisher.publish([Publish(topic, with_command_id(each)) for each in events])

    def commands(self) -> list[JobEvent]:
        records = self.broker.topic(JOB_COMMANDS.name).partitions[0].records
        return [self.codec.decode(JOB_COMMANDS, each.value) for each in records if each.value]


@pytest.fixture
async def world() -> AsyncIterator[RunsWorld]:
    world = RunsWorld()
    following: list[asyncio.Task[None]] = []
    world.follow = lambda: following.append(asyncio.create_task(world.followed.run()))  # type: ignore[attr-defined]
    yield world
    for task in following:
        task.cancel()
    await asyncio.gather(*following, return_exceptions=True)


@pytest.fixture
async def client(world: RunsWorld) -> AsyncIterator[httpx.AsyncClient]:
    await world.publish(JOB_EVENTS, END)
    world.follow()  # type: ignore[attr-defined]
    async with client_of(world.parts()) as opened:
        async with asyncio.timeout(10):
            while (await opened.get("/api/v1/runs/spring")).status_code == 503:
                await asyncio.sleep(0)
        yield opened


async def shown(client: httpx.AsyncClient, run: str = "spring") -> dict[str, Any]:
    answer = await client.get(f"/api/v1/runs/{run}")
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


async def until_state(client: httpx.AsyncClient, state: str, run: str = "spring") -> None:
    async with asyncio.timeout(10):
        while (await shown(client, run))["state"] != state:
            await asyncio.sleep(0.01)


async def command(client: httpx.AsyncClient, what: str, run: str = "spring", **body: Any) -> httpx.Response:
    return await client.post(f"/api/v1/runs/{run}/{what}", json=body)


async def test_a_run_is_shown_with_its_counts(client: httpx.AsyncClient) -> None:
    found = await shown(client)

    assert (found["execution_id"], found["job_id"], found["state"]) == ("spring", "news", "running")
    assert (found["open"], found["accepted"], found["ended_at"]) == (2, 5, None)


async def test_a_run_that_has_ended_is_shown_by_its_end_also_without_the_working_set(
    world: RunsWorld, client: httpx.AsyncClient
) -> None:
    world.frontier.failure = Unavailable("redis", "away")
    found = await shown(client, "done")

    assert (found["state"], found["pages"], found["bytes"], found["seconds"]) == ("completed", 3, 900, 60)
    assert (found["accepted"], found["outcomes"]) == (4, {"settled": 3, "budget": 1})
    assert found["ended_at"].endswith("Z")


async def test_a_run_is_closed_once(world: RunsWorld, client: httpx.AsyncClient) -> None:
    first, second = await command(client, "close"), await command(client, "close")

    assert [each.status_code for each in (first, second)] == [200, 200]
    assert [each.json()["state"] for each in (first, second)] == ["closed", "closed"]
    (published,) = world.commands()
    assert (published.what, published.execution_id, published.is_wish) == ("close", "spring", True)
    assert published.by == "api"
    assert published.at_ms > NOW_MS


async def test_a_run_is_closed_before_its_seeds_are_accepted(
    world: RunsWorld, client: httpx.AsyncClient
) -> None:
    """They are acknowledged, and link-ingestion has not read them yet."""
    answer = await command(client, "close", "just-sent")

    assert (answer.status_code, answer.json()["state"], answer.json()["accepted"]) == (200, "closed", 0)
    assert [each.execution_id for each in world.commands()] == ["just-sent"]


async def test_pause_resume_and_cancel(world: RunsWorld, client: httpx.AsyncClient) -> None:
    states = []
    for what in ("pause", "resume", "cancel"):
        answer = await command(client, what, reason="a mistake")
        states.append((answer.status_code, answer.json()["state"]))

    assert states == [(200, "paused"), (200, "running"), (200, "cancelled")]
    assert {(each.job_id, each.execution_id) for each in world.commands()} == {("news", "spring")}
    assert (await shown(client))["reason"] == "a mistake"


@pytest.mark.parametrize("what", ["pause", "resume"])
async def test_what_cannot_be_undone_is_refused_by_name(client: httpx.AsyncClient, what: str) -> None:
    await command(client, "cancel")
    status, detail = problem_of(await command(client, what))

    assert (status, detail) == (409, f"spring was cancelled, which cannot be undone: {what} is refused")


async def test_a_run_that_senders_share_is_not_closed(world: RunsWorld, client: httpx.AsyncClient) -> None:
    status, detail = problem_of(await command(client, "close", "adhoc-2026-11-20-abc"))

    assert (status, world.commands()) == (409, [])
    assert "senders share" in detail


async def test_commands_of_others_are_followed(world: RunsWorld, client: httpx.AsyncClient) -> None:
    pause = JobEvent("", "pause", is_wish=True, at_ms=1, by="bob", job_id="news", reason="as agreed")
    await world.publish(JOB_COMMANDS, pause)
    await until_state(client, "paused")

    assert ((await shown(client))["by"], (await shown(client))["reason"]) == ("bob", "as agreed")


async def test_a_run_whose_records_were_deleted_is_forgotten(
    world: RunsWorld, client: httpx.AsyncClient
) -> None:
    ended = with_command_id(replace(END, execution_id="old"))
    await world.publish(JOB_COMMANDS, ended)
    async with asyncio.timeout(10):
        while (await client.get("/api/v1/runs/old")).status_code != 200:
            await asyncio.sleep(0.01)
        await world.publisher.publish([PublishRaw(JOB_COMMANDS, ended.event_id.encode(), None)])
        while (await client.get("/api/v1/runs/old")).status_code != 404:
            await asyncio.sleep(0.01)


BAD = [
    pytest.param("nobody", "pause", b"{}", 404, "no run 'nobody'", id="unknown"),
    pytest.param("x" * 201, "close", b"{}", 422, "run: has 201 characters, the limit is 200", id="long"),
    pytest.param("a%20b", "close", b"{}", 422, "run: contains a blank", id="blank"),
    pytest.param("spring", "pause", b'{"reasn": "x"}', 422, "reasn: ", id="unknown-field"),
    pytest.param("spring", "pause", b'{"reason": 7}', 422, "reason: ", id="number"),
    pytest.param("spring", "cancel", b'{"reason": "%s"}' % (b"x" * 501), 422, "reason: ", id="long-reason"),
    pytest.param("spring", "cancel", b"[]", 422, "body: ", id="list"),
    pytest.param("spring", "cancel", b"{", 422, "body: ", id="no-json"),
    pytest.param("spring", "cancel", b" " * 5_000, 413, "larger than 4096 bytes", id="huge"),
]


@pytest.mark.parametrize(("run", "what", "body", "status", "detail"), BAD)
async def test_bad_commands_are_refused_by_field(  # noqa: PLR0917  # the table's
    world: RunsWorld, client: httpx.AsyncClient, run: str, what: str, body: bytes, status: int, detail: str
) -> None:
    answer = await client.post(f"/api/v1/runs/{run}/{what}", content=body, headers=JSON)

    found, text = problem_of(answer)
    assert found == status
    assert detail in text
    assert world.commands() == []


async def test_a_form_of_another_page_sends_no_command(world: RunsWorld, client: httpx.AsyncClient) -> None:
    answer = await client.post("/api/v1/runs/spring/cancel", content=b"{}")

    assert (problem_of(answer)[0], world.commands()) == (415, [])


async def test_a_command_needs_no_body(world: RunsWorld, client: httpx.AsyncClient) -> None:
    answer = await client.post("/api/v1/runs/spring/cancel")

    assert (answer.status_code, len(world.commands())) == (200, 1)


async def test_before_the_topics_are_read_no_run_is_known_and_none_is_unknown(world: RunsWorld) -> None:
    async with client_of(world.parts()) as client:
        answers = [await client.get("/api/v1/runs/spring"), await command(client, "cancel")]

    assert [each.status_code for each in answers] == [503, 503]
    assert world.commands() == []


async def test_a_run_is_not_unknown_while_a_shard_is_not_ready(
    world: RunsWorld, client: httpx.AsyncClient
) -> None:
    world.frontier.unready, world.frontier.runs_now = (0,), {}
    world.followed._snapshot = None

    assert (await client.get("/api/v1/runs/spring")).status_code == 503


async def test_many_clients_that_wait_cost_no_more_than_one(
    world: RunsWorld, client: httpx.AsyncClient
) -> None:
    world.followed._snapshot, world.frontier.reads = None, 0
    await asyncio.gather(*(shown(client) for _ in range(50)))

    assert world.frontier.reads <= 2
