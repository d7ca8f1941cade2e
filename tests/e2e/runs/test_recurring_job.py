"""A recurring job on the whole pipeline: it runs twice by itself, has results, and its source is compared."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.events import SourceSaved
from strider.contracts.generated.topics import JOB_EVENTS, SOURCES
from strider.jobs.models import JobExecution, NewJob
from strider.jobs.postgres import PostgresJobStore
from strider.storage import keys
from strider.storage.postgres import Postgres, PostgresOptions
from strider.storage.redis import RedisOptions, connect
from strider.testing.site import EXCLUDED, ServedSite, SiteShape, serve_site
from tests.e2e.checks import assert_polite
from tests.e2e.pipeline import DELAY_SECONDS, Ring
from tests.processes.waiting import until

SHAPE = SiteShape(hosts=1, pages_per_host=4, has_excluded=True)
RUNS_SECONDS = 420.0
JOB = "recurring"

pytestmark = pytest.mark.timeout(900)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[ServedSite]:
    with serve_site(78, SHAPE, log=tmp_path / "recurring.log", name="recurring") as served:
        yield served


def save_source(ring: Ring, source: SourceSaved) -> None:
    encoded = Codec(SchemaStore.bundled()).encode(SOURCES, source)
    ring._produce(SOURCES.name, encoded.value, key=SOURCES.key_of(source), headers=encoded.headers)


@pytest.mark.req("S1.5.2", "S1.7.1", "S1.7.3", "S0.2.1", "S0.2.2", "S0.2.4", "S0.2.12", "S1.8.1")
async def test_a_recurring_job_runs_again_with_results(ring: Ring, site: ServedSite) -> None:
    home = site.plan.seeds[0]
    save_source(ring, SourceSaved(JOB, JOB, home, scope="any", max_depth=5, exclude=(EXCLUDED,)))
    postgres = Postgres(PostgresOptions(ring.servers.dsn, max_connections=2))
    store = PostgresJobStore(postgres)
    redis = connect(RedisOptions(ring.servers.redis.address))
    try:
        new = NewJob(job_id=JOB, source_id=JOB, url=home, interval_minutes=1)
        await store.create(new, now_ms=await store.now_ms())
        executions: list[JobExecution] = []

        async def has_run_twice() -> bool:
            executions[:] = reversed((await store.executions(JOB)).executions)
            return [each.state for each in executions[:2]] == ["completed", "completed"]

        await until(has_run_twice, what="two runs", tell=ring.tell, seconds=RUNS_SECONDS)
        job = await store.get(JOB)
        copy = await redis.command("HGETALL", keys.ADAPTIVE_STATE(JOB))
    finally:
        await redis.close()
        await postgres.close()

    first, second = executions[:2]
    ends = [each for each in await ring.events(JOB_EVENTS) if each.what == "run_completed"]
    assert {each.execution_id for each in ends} >= {first.execution_id, second.execution_id}
    assert first.items_crawled == len(site.plan.pages)
    assert first.items_indexed == await ring.count_pages(JOB)
    assert first.bytes_fetched > 0
    assert second.items_crawled >= 1
    assert job is not None
    assert (job.state, job.current_interval_seconds) == ("scheduled", 120)
    assert (copy[b"unchanged_count"], copy[b"current_interval"]) == (b"1", b"120")
    assert_polite(site, delay_seconds=DELAY_SECONDS)
