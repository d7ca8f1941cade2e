"""Logs of runs and live streams, by a real API process on a real Valkey."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from strider.api import log_events
from strider.api.adapters.live_logs import KEPT_ENTRIES
from strider.client import ClientOptions, StriderClient
from strider.runtime.access_tokens import Caller, Role, issue_token
from strider.runtime.clocks import SystemClock
from strider.storage.keys import RUN_LOG
from strider.storage.objects import ObjectOptions, open_object_store
from strider.storage.redis import Redis
from strider.storage.run_logs.archive import RunLogArchive
from strider.storage.run_logs.redis_log import RedisRunLogs
from strider.testing.callers import AUTH_SETTINGS, JWT_SECRET, access_token, bearer
from tests.figures import record_figure
from tests.integration.api.streams import RUN, STREAM, ServerSentEvent, a_line, stream_of
from tests.integration.examples.processes import ServiceProcess
from tests.integration.examples.test_telemetry import closed_port
from tests.processes.waiting import until

LOGS = f"/api/v1/runs/{RUN}/logs"
CLIENTS = 200
AUTHORIZATION = f"Authorization: Bearer {access_token()}"


class LogApi:
    """An API process with logs, and with nothing else behind it; it may be killed and started again."""

    def __init__(self, folder: Path, redis_url: str, **settings: str) -> None:
        nowhere = f"127.0.0.1:{closed_port()}"
        self._folder = folder
        self._nowhere = nowhere
        self.port = closed_port()
        self.objects_url = (folder / "objects").as_uri()
        self._settings = {
            "POSTGRES_DSN": f"postgresql://{nowhere}/strider",
            "REDIS_URL": redis_url,
            "OBJECT_STORE_URL": self.objects_url,
            "STRIDER_API_PORT": str(self.port),
            "STRIDER_API_MAX_CONNECTIONS_PER_CLIENT": "256",
            **AUTH_SETTINGS,
            **settings,
        }
        self._count = 0
        self.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        self._count += 1
        log = self._folder / f"api-{self._count}.log"
        self.process = ServiceProcess("api", self._nowhere, log, self._settings)
        place = urlsplit(str(self.process.wait_for_event(log_events.API_LISTENING.text)["url"]))
        assert place.port == self.port

    def resident_mb(self) -> float:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) / 1024


@pytest.fixture
def api(tmp_path: Path, redis_url: str) -> Iterator[LogApi]:
    running = LogApi(tmp_path, redis_url)
    yield running
    running.process.close()


@pytest.fixture
def logs(redis: Redis) -> RedisRunLogs:
    return RedisRunLogs(redis)


@pytest.fixture
async def client(api: LogApi) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=api.url, trust_env=False, timeout=30, headers=bearer()) as opened:
        yield opened


async def end(logs: RedisRunLogs, run: str = RUN, *, is_archived: bool = False) -> None:
    """Write the end of a log, as the scheduler does."""
    position = (await logs.tail(run, count=1))[-1].position
    assert await logs.close(run, after=position, job_id="news", ts="t", is_archived=is_archived)


def numbers(events: list[ServerSentEvent]) -> list[int]:
    return [event.data["number"] for event in events if event.name == "log"]


async def rest_of(events: AsyncIterator[ServerSentEvent]) -> list[ServerSentEvent]:
    async with asyncio.timeout(60):
        return [event async for event in events]


@pytest.mark.req("S1.2.4", "S1.13.7")
async def test_a_log_is_described_viewed_and_downloaded(
    client: httpx.AsyncClient, logs: RedisRunLogs
) -> None:
    """By run and by job, filtered and page by page; as text and as lines of JSON."""
    services = ("fetcher", "parser")
    await logs.write([a_line(0, run="news-0")])
    await logs.write(
        [a_line(n, service=services[n % 2], level="error" if n % 3 == 0 else "info") for n in range(12)]
    )
    first = (await client.get(LOGS, params={"limit": 5})).json()
    rest = (await client.get(LOGS, params={"cursor": first["next"]})).json()
    of_job = (await client.get("/api/v1/jobs/news/logs", params={"level": "warning"})).json()
    earlier = (await client.get("/api/v1/jobs/news/logs", params={"run": "news-0"})).json()
    of_parser = (await client.get(LOGS, params={"service": "parser"})).json()
    plain = await client.get(f"{LOGS}/download")
    documents = await client.get(f"{LOGS}/download", params={"format": "jsonl", "service": "parser"})

    assert {name: first[name] for name in ("job_id", "run", "state", "lines")} == {
        "job_id": "news",
        "run": RUN,
        "state": "live",
        "lines": 12,
    }
    assert [line["number"] for line in [*first["items"], *rest["items"]]] == list(range(12))
    assert rest["next"] is None
    assert (of_job["run"], of_job["runs"]) == (RUN, [RUN, "news-0"])
    assert [line["number"] for line in of_job["items"]] == [0, 3, 6, 9]
    assert earlier["run"] == "news-0"
    assert {line["service"] for line in of_parser["items"]} == {"parser"}
    assert plain.headers["content-disposition"] == f'attachment; filename="{RUN}.log"'
    assert len(plain.text.splitlines()) == 12
    assert [json.loads(line)["number"] for line in documents.text.splitlines()] == [1, 3, 5, 7, 9, 11]


@pytest.mark.parametrize(
    ("path", "status", "named"),
    [
        ("/api/v1/runs/unknown/logs", 404, "unknown"),
        ("/api/v1/jobs/unknown/logs", 404, "unknown"),
        ("/api/v1/jobs/other/logs?run=news-1", 404, "news-1"),
        ("/api/v1/runs/unknown/logs/download", 404, "unknown"),
        ("/api/v1/runs/a%20b/logs", 422, "run"),
        ("/api/v1/jobs/%7Bx%7D/logs/stream/v2", 422, "job"),
        (f"{LOGS}?level=loud", 422, "level"),
        (f"{LOGS}?limit=0", 422, "limit"),
        (f"{LOGS}?cursor=x", 422, "cursor"),
        (f"{LOGS}?lines=3", 422, "lines"),
        (f"{LOGS}/download?format=pdf", 422, "format"),
        ("/sse/nothing/events", 404, "/sse/nothing/events"),
    ],
)
async def test_the_error_of_a_wrong_request_names_what_to_change(
    client: httpx.AsyncClient, logs: RedisRunLogs, path: str, status: int, named: str
) -> None:
    await logs.write([a_line(1)])
    answer = await client.get(path)

    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert named in answer.json()["detail"]


async def test_an_id_of_no_event_is_refused(client: httpx.AsyncClient) -> None:
    answer = await client.get(STREAM, headers={"Last-Event-ID": "abc"})

    assert (answer.status_code, "Last-Event-ID" in answer.json()["detail"]) == (422, True)


@pytest.mark.req("S1.2.5", "S1.13.7")
async def test_a_stream_ends_with_the_run(api: LogApi, logs: RedisRunLogs) -> None:
    """All lines from the beginning, then those that come, then the end; also of a run without a line yet."""
    async with stream_of(api.url) as events, stream_of(api.url, f"{STREAM}?level=error") as errors:
        following = [asyncio.create_task(rest_of(each)) for each in (events, errors)]
        for number in range(5):
            await logs.write([a_line(number, level="error" if number == 3 else "info")])
        await end(logs)
        found = await asyncio.gather(*following)
    async with stream_of(api.url, "/api/v1/jobs/news/logs/stream/v2") as events:
        of_job = await rest_of(events)

    assert (numbers(found[0]), found[0][-1].name) == (list(range(5)), "end")
    assert (numbers(found[1]), found[1][-1].name) == ([3], "end")
    assert (numbers(of_job), of_job[-1].name) == (list(range(5)), "end")


async def test_an_archived_run_is_downloaded_and_streamed(
    api: LogApi, client: httpx.AsyncClient, logs: RedisRunLogs, redis: Redis
) -> None:
    """Redis may forget it, or be new: the archive has every line."""
    objects = open_object_store(ObjectOptions(api.objects_url), clock=SystemClock())
    await logs.write([a_line(number) for number in range(120)])
    stored = await logs.tail(RUN, count=200)
    await RunLogArchive(objects).add("news", RUN, stored, archived_at="now")
    await objects.close()
    await redis.command("DEL", RUN_LOG(RUN))
    async with stream_of(api.url, last_event_id=stored[59].position) as events:
        found = await rest_of(events)
    downloaded = await client.get(f"{LOGS}/download", params={"format": "jsonl"})

    assert (await client.get(LOGS)).json()["state"] == "archived"
    assert (numbers(found), found[-1].name) == (list(range(60, 120)), "end")
    assert [json.loads(line)["number"] for line in downloaded.text.splitlines()] == list(range(120))


@pytest.mark.req("S1.2.5")
@pytest.mark.fault("A9", part="live streams")
async def test_a_stream_continues_after_the_last_event(api: LogApi, logs: RedisRunLogs) -> None:
    """Over lost connections and a killed API: every line once, in order."""
    most, seen, last = 400, [], ""

    async def write() -> None:
        for number in range(most):
            await logs.write([a_line(number)])
        await end(logs)

    writing = asyncio.create_task(write())
    kills = 0
    async with asyncio.timeout(240):
        while not last or seen[-1] != most - 1:
            try:
                async with stream_of(api.url, last_event_id=last) as events:
                    async for event in events:
                        if event.name != "log":
                            break
                        seen.append(event.data["number"])
                        last = event.event_id
                        if len(seen) % 37 == 0:
                            break
                        if len(seen) == 150 and not kills:
                            kills += 1
                            await asyncio.to_thread(api.process.stop, signal.SIGKILL)
                            await asyncio.to_thread(api.start)
            except httpx.TransportError:
                continue
    await writing

    assert kills == 1
    assert seen == list(range(most))


@pytest.mark.fault("A9", part="readers of live streams that are slow")
async def test_a_slow_reader_is_dropped_with_an_event(api: LogApi, logs: RedisRunLogs) -> None:
    """Others get every line meanwhile; the slow one continues where it was, without a loss."""
    wire = socket.socket()
    wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 536)  # else the kernel keeps some MB for it
    wire.connect(("127.0.0.1", api.port))
    wire.sendall(
        f"GET {STREAM} HTTP/1.1\r\nHost: 127.0.0.1\r\n{AUTHORIZATION}\r\nConnection: close\r\n\r\n".encode()
    )
    await logs.write([a_line(0)])
    wire.settimeout(30)
    await until(lambda: b"data" in wire.recv(65536, socket.MSG_PEEK), what="the stream is live")
    most = KEPT_ENTRIES + 2_500
    async with stream_of(api.url) as events:
        following = asyncio.create_task(rest_of(events))
        for first in range(1, most, 50):
            await logs.write([a_line(n, padding=800) for n in range(first, min(first + 50, most))])
        await end(logs)
        others = numbers(await following)
    received = await asyncio.to_thread(_read_to_end, wire)
    dropped = received.rpartition("event: dropped\ndata: ")[2].partition("\n")[0]
    seen = [json.loads(line[6:])["number"] for line in received.split("\n") if '"number"' in line]
    async with stream_of(api.url, last_event_id=json.loads(dropped)["last_event_id"]) as events:
        seen += numbers(await rest_of(events))

    assert others == list(range(most))
    assert "too slowly" in json.loads(dropped)["reason"]
    assert seen == list(range(most))


def _read_to_end(wire: socket.socket) -> str:
    """Read a response of chunks, without their lengths."""
    wire.settimeout(30)
    content = b""
    with wire, wire.makefile("rb") as file:
        while file.readline() != b"\r\n":
            pass
        while size := int(file.readline(), 16):
            content += file.read(size)
            file.readline()
    return content.decode()


class Crowd:
    """Clients of one stream, who leave together."""

    def __init__(self, url: str, size: int, *, after: str, first: int, last: int) -> None:
        self._url = url
        self.size = size
        self._after = after
        self._first = first
        self._last = last
        self.ready = self.done = 0
        self._may_leave = asyncio.Event()

    async def take(self) -> None:
        """Read one client's lines, and stay connected."""
        seen: list[int] = []
        async with stream_of(self._url, last_event_id=self._after) as events:
            async for event in events:
                seen.append(event.data["number"])
                self.ready += seen[-1] == self._first
                if seen[-1] == self._last:
                    break
            self.done += seen == list(range(self._first, self._last + 1))
            await self._may_leave.wait()

    def leave(self) -> None:
        self._may_leave.set()


@pytest.mark.req("S1.13.7", part="200 clients of one stream")
async def test_two_hundred_clients_take_little_more_memory_than_ten(
    api: LogApi, logs: RedisRunLogs, redis: Redis
) -> None:
    """And ask Redis hardly more often: one reader serves them all."""
    figures = {}
    for size, first in ((10, 0), (CLIENTS, 100)):
        entries = await logs.tail(RUN, count=1)
        after = entries[-1].position if entries else "0-0"
        await logs.write([a_line(first, padding=300)])
        crowd = Crowd(api.url, size, after=after, first=first, last=first + 99)
        async with asyncio.TaskGroup() as group:
            for _ in range(size):
                group.create_task(crowd.take())
            await until(lambda crowd=crowd: crowd.ready == crowd.size, what="all have the first line")
            before = await commands(redis)
            for number in range(first + 1, first + 100):
                await logs.write([a_line(number, padding=300)])
            await until(lambda crowd=crowd: crowd.done == crowd.size, what="all have every line")
            figures[size] = api.resident_mb(), await commands(redis) - before
            crowd.leave()

    record_figure(f"clients of one stream, MB of the API and reads of Redis meanwhile: {figures}")
    assert figures[CLIENTS][0] < 1.5 * figures[10][0]
    assert figures[CLIENTS][1] < 3 * figures[10][1] + 2 * CLIENTS


async def commands(redis: Redis) -> int:
    """How many ranges of streams were read."""
    stats = await redis.command("INFO", "commandstats")
    return int(stats.get("cmdstat_xrange", {}).get("calls", 0))


@pytest.mark.req("S1.2.9", "S1.13.10")
async def test_the_crawlers_own_streams(api: LogApi, logs: RedisRunLogs) -> None:
    """Lines of all runs, the state of the API, figures of the crawl."""
    async with (
        stream_of(api.url, "/sse/crawler/events") as crawler,
        stream_of(api.url, "/sse/health/events") as health,
        stream_of(api.url, "/sse/metrics/events") as metrics,
    ):
        first = {name: await anext(events) for name, events in (("health", health), ("metrics", metrics))}
        reading = asyncio.create_task(anext(crawler))
        number = 0
        while not reading.done():  # from now on: what was written before it began is not its
            number += 1
            await logs.write([a_line(number, run=f"run-{number % 2}")])
            await asyncio.wait([reading], timeout=0.1)
        line = await reading
    async with stream_of(api.url, "/sse/crawler/events", last_event_id=line.event_id) as crawler:
        await logs.write([a_line(number + 1, run="another")])
        later = await anext(crawler)
        while later.data["number"] <= number:
            later = await anext(crawler)

    assert line.data["execution_id"] in {"run-0", "run-1"}
    assert later.data["execution_id"] == "another"
    assert first["health"].data["service"] == "api"
    assert first["health"].data["dependencies"]["redis"] in {True, False}
    assert set(first["metrics"].data) == {"fetchers", "pages_crawled", "pages_failed", "bytes_downloaded"}


async def test_a_stop_ends_streams(api: LogApi, logs: RedisRunLogs) -> None:
    """A stopped API says that it closes, so that the client connects to another one."""
    await logs.write([a_line(1)])
    async with stream_of(api.url) as events:
        assert (await anext(events)).data["number"] == 1
        os.kill(api.process.pid, signal.SIGTERM)
        last = await rest_of(events)

    assert [event.name for event in last] == ["closing"]
    assert api.process.code() == 0


async def test_streams_have_a_number_and_leave_connections_to_others(tmp_path: Path, redis_url: str) -> None:
    """A stream that is closed makes room for another one."""
    api = LogApi(tmp_path, redis_url, STRIDER_API_MAX_STREAMS="2")
    try:
        async with httpx.AsyncClient(
            base_url=api.url, trust_env=False, timeout=30, headers=bearer()
        ) as client:
            async with stream_of(api.url, "/sse/health/events") as one, stream_of(api.url) as _two:
                await anext(one)
                refused = await client.get(STREAM)
                document = await client.get("/openapi.json")

            async def has_room() -> bool:
                async with client.stream("GET", STREAM) as response:
                    return response.status_code == 200

            await until(has_room, what="a stream has ended")
    finally:
        api.process.close()

    assert (refused.status_code, refused.headers["retry-after"]) == (503, "5")
    assert document.status_code == 200


async def test_logs_and_streams_need_a_token(api: LogApi) -> None:
    async with httpx.AsyncClient(base_url=api.url, trust_env=False, timeout=30) as client:
        paths = (LOGS, STREAM, "/sse/crawler/events", "/sse/health/events", "/sse/metrics/events")
        statuses = [(await client.get(path)).status_code for path in paths]

    assert statuses == [401] * len(paths)


async def test_the_client_library_follows_a_log_over_a_killed_api(
    api: LogApi, logs: RedisRunLogs, tmp_path: Path
) -> None:
    """As `strider jobs logs -f` does, with a token that has expired; then its file has the same lines."""
    await logs.write([a_line(number) for number in range(20)])
    token = access_token(Role.USER)

    expired = issue_token(JWT_SECRET, Caller("tests", Role.USER), now_seconds=1e9, lifetime_seconds=300)

    def follow() -> list[int]:
        with StriderClient("", options=ClientOptions(api.url, expired, renew=lambda: token)) as client:
            return [line["number"] for line in client.logs.follow("news")]

    following = asyncio.create_task(asyncio.to_thread(follow))
    for number in range(20, 60):
        await logs.write([a_line(number)])
        if number == 40:
            await asyncio.to_thread(api.process.stop, signal.SIGKILL)
            await asyncio.to_thread(api.start)
    await end(logs)
    found = await following
    file, options = tmp_path / "news.jsonl", ("--url", api.url, "--token", token)
    written = await command("jobs", "logs", "news", "--download", str(file), *options)
    printed = await command("jobs", "logs", "news", "-n", "3", "-f", *options)
    unknown = await command("jobs", "logs", "unknown", *options)

    assert found == list(range(60))
    assert written[0] == 0
    assert [json.loads(line)["number"] for line in file.read_text().splitlines()] == list(range(60))
    assert (printed[0], len(printed[1].splitlines())) == (0, 3)
    assert (unknown[0], "unknown" in unknown[2]) == (1, True)


async def command(*arguments: str) -> tuple[int | None, str, str]:
    """Run strider; gives its exit code, and what it printed."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "strider.cli", *arguments), stdout=PIPE, stderr=PIPE
    )
    async with asyncio.timeout(60):
        out, err = await process.communicate()
    return process.returncode, out.decode(), err.decode()
