"""One pipeline for all tests of this folder."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from strider.storage.postgres import Postgres, PostgresOptions
from strider.storage.redis import RedisOptions, connect
from strider.testing.callers import AUTH_SETTINGS
from strider.testing.stack import ServerStack, create_database, drop_database
from tests.integration.scheduler.jobs.job_servers import job_servers

from .adaptive_histories import History, begin_histories
from .job_client import JobClient
from .old_executions import add_old_executions


@pytest_asyncio.fixture(scope="package", loop_scope="package")
async def client(
    stack: ServerStack, migrated: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[JobClient]:
    """Start scheduler, link-ingestion and API on a database of their own."""
    directory: Path = tmp_path_factory.mktemp("job-runs")
    if stack.redis.is_ours:
        redis = connect(RedisOptions(stack.redis.address))
        await redis.command("FLUSHALL")
        await redis.close()
    dsn = create_database(stack.postgres.address, template=migrated)
    postgres = Postgres(PostgresOptions(dsn, max_connections=2))
    await add_old_executions(postgres)
    try:
        async with job_servers(stack.kafka.address, stack.redis.address, dsn, directory) as servers:
            objects = {"OBJECT_STORE_URL": (directory / "objects").as_uri()}
            scheduler = servers.start(settings=objects)
            api = servers.start("api", {"STRIDER_API_PORT": "0", **AUTH_SETTINGS, **objects})
            await api.until_logged("API listening")
            await api.until_logged("Service running")
            await scheduler.until_ready()
            client = JobClient(servers, postgres, scheduler, api)
            yield client
            await client.close()
    finally:
        await postgres.close()
        drop_database(dsn)


@pytest_asyncio.fixture(scope="package", loop_scope="package", autouse=True)
async def histories(client: JobClient) -> AsyncIterator[dict[str, asyncio.Task[History]]]:
    """Begin the jobs that run often with the first test; their tests, the last ones, await them."""
    begun = begin_histories(client)
    yield begun
    for task in begun.values():
        task.cancel()
    await asyncio.gather(*begun.values(), return_exceptions=True)
