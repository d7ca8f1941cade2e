"""Of three brokers one after the other is killed with -9 under load: no service waits for it to come back."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest
from aiokafka.admin import AIOKafkaAdminClient

from strider.api import log_events
from strider.contracts.generated.topics import (
    ECHO_DLQ,
    ECHOES,
    JOB_COMMANDS,
    JOB_EVENTS,
    SCHEMAS,
    SEEDS_OWNED,
    SEEDS_SUBMITTED,
    SOURCES,
    TALLIES,
    TALLY_DLQ,
)
from strider.localstack.servers.probes import run_sync
from strider.messaging.kafka import KafkaConnection
from strider.messaging.topics import apply_topics
from strider.runtime.consumer.spec import ConsumerSettings
from strider.storage.migrations import upgrade
from strider.testing.callers import AUTH_SETTINGS, bearer
from strider.testing.kafka_cluster import KafkaCluster, start_cluster
from strider.testing.stack import (
    RunningServer,
    ServerStack,
    create_database,
    drop_database,
    temp_server_directory,
)
from tests.processes.broker import Broker
from tests.processes.services import Yard
from tests.processes.waiting import until_whole

from .conftest import EXAMPLE_TOPICS, SHARDS
from .scene import SHORT, Scale, Scene

WINDOW = ConsumerSettings().buffer_messages
API = ("-m", "strider.api")
ACCEPTED = 202


@pytest.fixture(scope="module")
def cluster() -> Iterator[KafkaCluster]:
    with temp_server_directory() as directory:
        running = start_cluster(directory)
        try:
            connection = KafkaConnection(tuple(running.address.split(",")))
            of_the_api = (JOB_COMMANDS, JOB_EVENTS, SEEDS_OWNED, SEEDS_SUBMITTED, SOURCES)
            topics = [*EXAMPLE_TOPICS, SCHEMAS, *of_the_api]
            asyncio.run(apply_topics(connection, topics, shards=SHARDS))
            yield running
        finally:
            running.close()


@pytest.fixture
async def wide_scene(cluster: KafkaCluster, tmp_path: Path) -> AsyncIterator[Scene]:
    await asyncio.to_thread(cluster.start)
    yard = Yard(cluster.address, tmp_path, shards=SHARDS)
    broker = Broker(cluster.address, shards=SHARDS)
    try:
        await broker.open(*EXAMPLE_TOPICS)
        yield await Scene.open(cluster.nodes[0], broker, yard)
    finally:
        await broker.close()
        await asyncio.to_thread(yard.close)


async def _coordinator_of(group: str, cluster: KafkaCluster) -> RunningServer:
    """Return the node that keeps the offsets of a group."""
    admin = AIOKafkaAdminClient(bootstrap_servers=cluster.address)
    await admin.start()
    try:
        return cluster.nodes[await admin.find_coordinator(group) - 1]
    finally:
        await admin.close()


@pytest.mark.fault("F5")
@pytest.mark.fault("F7", part="the broker of a coordinator is killed under load")
async def test_a_killed_node_of_a_cluster_stops_nothing(
    wide_scene: Scene, cluster: KafkaCluster, scale: Scale
) -> None:
    """Its partitions, groups and transactions move to the others; what was acknowledged is still there."""
    scene = wide_scene
    echo, tally = scene.echo(), scene.tally()
    await asyncio.gather(echo.until_ready(), tally.until_ready())
    coordinator = await _coordinator_of("echo", cluster)
    others = [node for node in cluster.nodes if node is not coordinator]
    nodes = [coordinator, *others] if scale.rounds > len(cluster.nodes) else [coordinator]
    waited_seconds = []
    async with scene.load(scale) as load:
        for node in nodes:
            await asyncio.gather(scene.until_more(ECHOES), scene.until_more(TALLIES))
            await load.until_asked(scale.between[0], tell=scene.tell)
            node.kill()
            killed = time.monotonic()
            await asyncio.gather(scene.until_more(ECHOES), scene.until_more(TALLIES))
            await load.until_asked(scale.between[0], tell=scene.tell)
            await asyncio.gather(scene.until_more(ECHOES), scene.until_more(TALLIES))
            waited_seconds.append(time.monotonic() - killed)
            await asyncio.to_thread(node.start)
            await until_whole(cluster)
    await scene.until_all_drained()
    answers, audit = await scene.answers(load), await scene.audit(may_say_again=True)
    scene.figures(
        "kill -9 of a node of a cluster",
        kills=len(nodes),
        sent=answers.sent,
        answered=answers.answered,
        lost=answers.lost,
        repeated=f"{answers.repeated} (bound {WINDOW * len(nodes)})",
        longest_gap=f"{answers.longest_gap_seconds}s",
        went_on=f"within {max(waited_seconds):.1f}s while it was down",
        tallies_kept=audit.kept,
        tallies_said_again=audit.said_again,
    )
    assert answers.lost == 0
    assert answers.repeated <= WINDOW * len(nodes)
    assert audit.said_again <= WINDOW * len(nodes)
    assert (audit.wrong, audit.counted) == ((), audit.expected)
    assert [echo.exit_code, tally.exit_code] == [None, None]
    assert [*await scene.letters(ECHO_DLQ), *await scene.letters(TALLY_DLQ)] == []


@pytest.fixture
def database(stack: ServerStack) -> Iterator[str]:
    dsn = create_database(stack.postgres.address)
    run_sync(upgrade(dsn))
    yield dsn
    drop_database(dsn)


@pytest.mark.fault("F6")
@pytest.mark.timeout(240)
async def test_two_dead_nodes_of_three_stop_writing_and_nothing_is_dropped_silently(
    wide_scene: Scene, cluster: KafkaCluster, database: str
) -> None:
    """The API says so with each refusal; services state why they wait, and all continue by themselves."""
    scene = wide_scene
    echo, tally = scene.echo(), scene.tally()
    api = scene.yard.start(API, {"POSTGRES_DSN": database, "STRIDER_API_PORT": "0", **AUTH_SETTINGS})
    await asyncio.gather(echo.until_ready(), tally.until_ready(), api.until_logged("Service running"))
    url = (await api.until_logged(log_events.API_LISTENING.text))["url"]
    async with (
        scene.load(SHORT) as load,
        httpx.AsyncClient(base_url=url, timeout=30, headers=bearer()) as client,
    ):
        before = await submit(client, "before")
        await load.until_asked(SHORT.between[0], tell=scene.tell)
        for node in cluster.nodes[1:]:
            node.kill()
        reasons = await asyncio.gather(echo.until_red("kafka"), tally.until_red("kafka"))
        refused = await submit(client, "while-down")
        down_since = time.monotonic()
        for node in cluster.nodes[1:]:
            await asyncio.to_thread(node.start)
        await until_whole(cluster)
        await asyncio.gather(scene.until_more(ECHOES), scene.until_more(TALLIES))
        await asyncio.gather(echo.until_ready(), tally.until_ready())
        recovered_seconds = time.monotonic() - down_since

        async def is_accepted() -> bool:
            return (await submit(client, "after")).status_code == ACCEPTED

        await api.until(is_accepted, what="accepts seeds again")
    await scene.until_all_drained()
    answers, audit = await scene.answers(load), await scene.audit(may_say_again=True)
    scene.figures(
        "two of three nodes down",
        sent=answers.sent,
        answered=answers.answered,
        lost=answers.lost,
        api=f"{before.status_code} {refused.status_code} {ACCEPTED}",
        recovered=f"{recovered_seconds:.1f}s",
    )

    assert (before.status_code, refused.status_code) == (ACCEPTED, 503)
    assert refused.json()["detail"] == "kafka does not respond now"
    assert int(refused.headers["Retry-After"]) > 0
    assert all("kafka" in reason for reason in reasons)
    assert answers.lost == 0
    assert (audit.wrong, audit.counted) == ((), audit.expected)
    assert [echo.exit_code, tally.exit_code, api.exit_code] == [None, None, None]
    assert [*await scene.letters(ECHO_DLQ), *await scene.letters(TALLY_DLQ)] == []


async def submit(client: httpx.AsyncClient, name: str) -> httpx.Response:
    """Submit one seed."""
    return await client.post("/api/v1/seeds", json=[f"https://{name}.example/"])
