"""Runs end on the services too, once: waited for by a command, read from the topic by a foreign client.

The scheduler is killed in the last second, link-ingestion between its seeds and their links.
"""

from __future__ import annotations

import asyncio
import io
import json
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import fastavro
import pytest

from strider.api import log_events
from strider.contracts.generated.topics import JOB_EVENTS
from strider.testing.owner import OWNER_SETTINGS
from strider.testing.site import EXCLUDED, ServedSite, SiteShape, serve_site
from tests.e2e.checks import assert_only_known_urls_were_asked, assert_polite
from tests.e2e.pipeline import DELAY_SECONDS, RINGS, Ring
from tests.integration.api.streams import stream_of
from tests.processes.waiting import until

SHAPE = SiteShape(hosts=2, pages_per_host=6, has_excluded=True)
END_SECONDS = 240.0
ROOT = Path(__file__).parents[3]
RELEASED = ROOT / "schemas" / "released"

pytestmark = pytest.mark.timeout(900)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[ServedSite]:
    with serve_site(77, SHAPE, log=tmp_path / "ends.log", name="run-ends") as served:
        yield served


async def strider(ring: Ring, *arguments: str) -> Process:
    """Start the command of an owner, as a person does."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("STRIDER_", "KAFKA_"))}
    servers = {
        "KAFKA_BOOTSTRAP_SERVERS": ring.servers.kafka.address,
        "REDIS_URL": ring.servers.redis.address,
        "OBJECT_STORE_URL": (ring.directory / "objects").as_uri(),
        **OWNER_SETTINGS,
        "STRIDER_SHARDS": "12",
    }
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "strider.cli", *arguments), env=kept | servers, stdout=PIPE, stderr=PIPE
    )


async def ended(process: Process) -> tuple[int, str, str]:
    async with asyncio.timeout(END_SECONDS):
        out, err = await process.communicate()
    assert process.returncode is not None
    return process.returncode, out.decode(), err.decode()


async def result(ring: Ring, *arguments: str) -> Mapping[str, Any]:
    code, shown, told = await ended(await strider(ring, *arguments))
    assert code == 0, told
    return dict(json.loads(shown))


async def documented_reader(ring: Ring, run: str) -> Process:
    """Start the program of the page about control, as a foreign client runs it."""
    page = (ROOT / "docs" / "operations" / "control.md").read_text(encoding="utf-8")
    program = page.partition("```python\n")[2].partition("```")[0]
    arguments = (sys.executable, "-c", program, ring.servers.kafka.address, run)
    return await asyncio.create_subprocess_exec(*arguments, cwd=ROOT, stdout=PIPE, stderr=PIPE)


async def events_of(ring: Ring, run: str) -> list[Any]:
    """Return what job-events has about a run."""
    return [each for each in await ring.events(JOB_EVENTS) if each.execution_id == run]


@pytest.mark.fault("F1", part="a scheduler in the last second of a run, and link-ingestion at its seeds")
async def test_seeds_that_are_waited_for_end_with_their_run(ring: Ring, site: ServedSite) -> None:
    seeds = await strider(
        ring,
        *("seeds", "add", site.plan.seeds[0], "--job", "ends", "--run", "ends-1", "--wait", "--json"),
        *("--scope", "any", "--max-depth", "10", "--exclude", EXCLUDED),
    )
    ring.services["link-ingestion"].kill()
    ring.start("link-ingestion")
    await ring.services["link-ingestion"].until_ready()

    async def is_counted() -> bool:
        return any(each.what == "run_count_wanted" for each in await events_of(ring, "ends-1"))

    await until(is_counted, what="the last second of the run", tell=ring.tell, seconds=END_SECONDS)
    ring.services["scheduler"].kill()
    ring.start("scheduler")
    code, shown, told = await ended(seeds)
    assert code == 0, told
    end = json.loads(shown.splitlines()[-1])

    waited = await result(ring, "runs", "wait", "ends-1", "--json")
    ends = [each for each in await events_of(ring, "ends-1") if each.what == "run_completed"]
    rows = await ring.urls("ends")
    assert waited == end
    assert len(ends) == 1
    assert (end["execution_id"], end["job_id"], end["state"]) == ("ends-1", "ends", "completed")
    assert end["outcomes"] == Counter(row["reason"] for row in rows)
    assert end["pages"] == len(site.plan.pages)
    assert end["accepted"] >= len(rows)
    assert_only_known_urls_were_asked(site)
    assert_polite(site, delay_seconds=DELAY_SECONDS)


def avro_seed(**fields: Any) -> bytes:
    """Encode a seed as a client with another Avro library does, by the released schema."""
    name = "seed-submitted.v4"
    fingerprint = json.loads((RELEASED / "manifest.json").read_text())[name]["fingerprint"]
    schema = fastavro.parse_schema(json.loads((RELEASED / f"{name}.avsc").read_text()))
    body = io.BytesIO()
    fastavro.schemaless_writer(body, schema, fields)
    return b"\xc3\x01" + bytes.fromhex(fingerprint) + body.getvalue()


@pytest.mark.req("S5.1.4")
async def test_a_foreign_client_closes_its_run_and_what_comes_later_is_refused(
    ring: Ring, site: ServedSite
) -> None:
    """By a document on the topic; the end is on job-events, and Ctrl-C of a wait leaves the run going.

    One of its seeds is JSON, the other one Avro.

    The program in docs/operations/control.md reads that end as it stands there.
    """
    reading = await documented_reader(ring, "raw.spring")
    waiting = await strider(ring, "runs", "wait", "raw.spring")
    ring.sow(site, is_owner=False, run="spring", delay=1, scope="listed")
    other = min(site.plan.pages - {site.plan.seeds[0]})
    ring.produce_bytes(avro_seed(url=other, execution_id="spring", delay=1.0, scope="listed", max_depth=10))
    await ring.until_asked(site, more=1, seconds=END_SECONDS)
    assert waiting.stderr is not None
    async with asyncio.timeout(END_SECONDS):
        assert "raw.spring is not closed" in (await waiting.stderr.readline()).decode()
    waiting.send_signal(signal.SIGINT)
    code, _, told = await ended(waiting)
    assert code == 130, told
    assert "raw.spring continues" in told
    ring.produce_seed({"run": "spring", "close": True})
    end = await result(ring, "runs", "wait", "raw.spring", "--json")
    code, shown, told = await ended(reading)
    assert code == 0, told
    read = json.loads(shown)
    assert (read["state_after"], read["pages"], read["bytes"]) == (end["state"], end["pages"], end["bytes"])
    assert read["counts"] == {"accepted": end["accepted"], **end["outcomes"]}
    assert (read["start_pages"], len(read["start_text_hashes"])) == (2, 2)
    assert (end["execution_id"], end["accepted"], end["state"]) == ("raw.spring", 2, "completed")

    late = f"{site.plan.seeds[0]}?late"
    ring.produce_seed({"url": late, "run": "spring", "delay": 1})

    async def is_refused() -> bool:
        return [row["reason"] for row in await ring.decisions_about(late)] == ["execution_over"]

    await until(is_refused, what="the late seed is refused", tell=ring.tell, seconds=END_SECONDS)
    code, shown, told = await ended(await strider(ring, "runs", "list"))
    assert code == 0, told
    assert [line.split()[1] for line in shown.splitlines() if line.startswith("raw.spring")] == ["completed"]


@pytest.mark.req("S1.2.27", "S1.13.7")
async def test_a_followed_log_has_the_lines_of_all_services_and_ends_with_its_run(
    ring: Ring, site: ServedSite, tmp_path: Path
) -> None:
    """By the command and by the API; then the archive has the same lines. No secret of a header is in any."""
    run, secret = "logged-1", "s3cret-of-a-header-0123456789"
    following = await strider(ring, "runs", "logs", run, "-f", "--json")
    listening = ring.services["api"].events(log_events.API_LISTENING.text)[-1]["url"]

    async def stream() -> list[Mapping[str, Any]]:
        async with stream_of(listening, "/api/v1/jobs/logged/logs/stream/v2") as events:
            return [event.data async for event in events if event.name == "log"]

    streaming = asyncio.create_task(stream())
    seeds = await strider(
        ring,
        *("seeds", "add", site.plan.seeds[0], "--job", "logged", "--run", run, "--wait", "--json"),
        *("--scope", "any", "--max-depth", "10", "--exclude", EXCLUDED, "--header", f"X-Key: {secret}"),
    )
    code, _, told = await ended(seeds)
    assert code == 0, told
    code, shown, told = await ended(following)
    assert code == 0, told
    async with asyncio.timeout(END_SECONDS):
        streamed = await streaming
    written = tmp_path / "logged.jsonl"
    code, _, told = await ended(await strider(ring, "runs", "logs", run, "--download", str(written)))
    assert code == 0, told

    lines = [json.loads(line) for line in shown.splitlines()]
    archived = list((ring.directory / "objects" / "run-logs").rglob("*.jsonl.gz"))
    assert {line["service"] for line in lines} == set(RINGS)
    assert "Run completed" in {line["event"] for line in lines}
    assert [{**line, "id": ""} for line in streamed] == [{"id": "", **line} for line in lines]
    assert [json.loads(line)["id"] for line in written.read_text().splitlines()] == [
        line["id"] for line in streamed
    ]
    assert archived
    assert secret not in shown + written.read_text()
    assert not any(secret in service.last_words(10_000) for service in ring.services.values())
