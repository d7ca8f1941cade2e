"""Permissions on a real broker: what each user may do is what `schemas/topics` says, and nothing else."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicCollection, TopicPartition
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from strider.contracts import TOPICS
from strider.contracts.generated.topics import EXAMPLE_SERVICES, SERVICES
from strider.messaging.errors import StartRefused, Unavailable
from strider.messaging.kafka import KafkaBus, KafkaConnection
from strider.messaging.ports import OutgoingMessage
from strider.messaging.topics import AccessOptions, apply_access, apply_topics, select_topics
from strider.testing.temp_dirs import temp_server_directory
from tests.figures import record_figure
from tests.processes.secured_broker import ADMIN, SecuredBroker, secured_broker

from .test_command import environment

SHARDS = 2
STRANGER = "somebody"
OURS = tuple(f"strider-{name}" for name in (*SERVICES, *EXAMPLE_SERVICES, "person"))
DECLARED = select_topics(examples=True)
OPERATIONS = {"READ", "WRITE", "CREATE", "DELETE", "ALTER", "ALTER_CONFIGS", "DESCRIBE_CONFIGS"}
"""What may be done with a topic, but for DESCRIBE, which reading and writing include."""

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def broker() -> Iterator[SecuredBroker]:
    with temp_server_directory() as place, secured_broker(place / "kafka") as secured:
        secured.add_users([STRANGER, "strider-old", *OURS])
        asyncio.run(apply_topics(secured.connection(ADMIN), DECLARED, shards=SHARDS))
        yield secured


@pytest.fixture(scope="module")
def allowed(broker: SecuredBroker) -> SecuredBroker:
    """The broker with the permissions, as the tests above left them."""
    asyncio.run(apply_access(broker.connection(ADMIN), DECLARED, AccessOptions(acls=True)))
    return broker


def strider(
    broker: SecuredBroker, user: str, *arguments: str, place: Path
) -> subprocess.CompletedProcess[str]:
    """Run the command as a user of the broker."""
    return subprocess.run(
        [sys.executable, "-m", "strider.cli", *arguments],
        env=environment(**broker.variables(user), STRIDER_SHARDS=str(SHARDS)),
        cwd=place,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def foreign_acl(principal: str, topic: str) -> AclBinding:
    """A permission that was granted by other means."""
    return AclBinding(
        ResourceType.TOPIC,
        topic,
        ResourcePatternType.LITERAL,
        principal,
        "*",
        AclOperation.READ,
        AclPermissionType.ALLOW,
    )


def acls_of(admin: AdminClient, principal: str) -> int:
    wanted = AclBindingFilter(
        ResourceType.ANY,
        None,
        ResourcePatternType.ANY,
        principal,
        None,
        AclOperation.ANY,
        AclPermissionType.ANY,
    )
    return len(admin.describe_acls(wanted).result(timeout=30))


def topic_rights(broker: SecuredBroker, user: str) -> dict[str, set[str]]:
    """What the broker itself says this user may do with each topic, but for describing it."""
    admin = AdminClient(broker.foreign(user))
    found = admin.describe_topics(TopicCollection([*TOPICS]), include_authorized_operations=True)
    rights, refusals = {}, set[int]()
    for name, answer in found.items():
        try:
            operations = answer.result(timeout=30).authorized_operations or []
        except KafkaException as failure:
            refusals.add(failure.args[0].code())
            continue
        if held := {operation.name for operation in operations} & OPERATIONS:
            rights[name] = held
    assert refusals <= {KafkaError.TOPIC_AUTHORIZATION_FAILED}
    return rights


def declared_rights(service: str) -> dict[str, set[str]]:
    """The same by the registry, written as plainly as a reader of the YAML files would."""
    rights: dict[str, set[str]] = {}
    for topic in DECLARED:
        writers = [topic.name.removesuffix("-dlq") if each == "runtime" else each for each in topic.writers]
        if service in writers or "anyone" in writers:
            rights.setdefault(topic.name, set()).add("WRITE")
        if service in topic.readers:
            rights.setdefault(topic.name, set()).add("READ")
    return rights


def test_the_command_shows_applies_and_repeats(broker: SecuredBroker, tmp_path: Path) -> None:
    """A dry run changes nothing; a second run finds nothing; what others granted stays."""
    admin = AdminClient({"bootstrap.servers": broker.open_address})
    granted = [foreign_acl("User:somebody", "pages-validated"), foreign_acl("User:strider-old", "frontier")]
    for answer in admin.create_acls(granted).values():
        answer.result(timeout=30)
    command = ("topics", "apply", "--examples", "--acls")

    dry = strider(broker, ADMIN, *command, "--dry-run", place=tmp_path)
    assert dry.returncode == 0, dry.stderr
    assert "would allow: User:* may write topic seeds-submitted\n" in dry.stdout
    assert "would allow: User:strider-fetcher may write topic pages-fetched\n" in dry.stdout
    assert "not declared, not removed: User:strider-old may read topic frontier\n" in dry.stdout
    assert acls_of(admin, "User:strider-fetcher") == 0

    first = strider(broker, ADMIN, *command, place=tmp_path)
    assert first.returncode == 0, first.stderr
    assert "\nallow: User:strider-scheduler may write transactional id scheduler-*\n" in first.stdout
    assert acls_of(admin, "User:strider-fetcher") > 0
    assert acls_of(admin, "User:strider-old") == 1

    again = json.loads(strider(broker, ADMIN, *command, "--json", place=tmp_path).stdout)
    assert (again["allow"], again["undeclared"]) == ([], ["User:strider-old may read topic frontier"])

    pruned = strider(broker, ADMIN, *command, "--prune", place=tmp_path)
    assert "remove: User:strider-old may read topic frontier\n" in pruned.stdout
    assert acls_of(admin, "User:strider-old") == 0
    assert acls_of(admin, "User:somebody") == 1, "what belongs to another user was removed"
    for cleared in admin.delete_acls([_exactly(granted[0])]).values():
        cleared.result(timeout=30)

    last = strider(broker, ADMIN, *command, place=tmp_path)
    assert last.stdout == "all topics are as declared\nall users may do what is declared\n"


def _exactly(acl: AclBinding) -> AclBindingFilter:
    return AclBindingFilter(
        acl.restype,
        acl.name,
        acl.resource_pattern_type,
        acl.principal,
        acl.host,
        acl.operation,
        acl.permission_type,
    )


@pytest.mark.parametrize("service", ["anyone", *SERVICES, *EXAMPLE_SERVICES, "person"])
def test_each_user_may_do_what_is_declared_and_nothing_else(allowed: SecuredBroker, service: str) -> None:
    """The broker lists the operations on each topic that the user who asks has."""
    user = STRANGER if service == "anyone" else f"strider-{service}"
    expected = declared_rights(service)
    if service == "renderer":  # no code reads or writes anything yet
        expected = declared_rights("anyone")

    found = topic_rights(allowed, user)

    rights = sum(map(len, found.values()))
    record_figure(f"permissions of {service}: rights={rights} topics={len(found)} of {len(TOPICS)}")
    assert found == expected


async def test_anyone_can_write_seeds_and_nothing_else(allowed: SecuredBroker) -> None:
    """Real messages by another client library: all topics refuse them but the public ones."""
    public = {topic.name for topic in DECLARED if "anyone" in topic.writers}
    assert public == {"seeds-submitted", "echo-requests"}
    producer = Producer({**allowed.foreign(STRANGER), "message.timeout.ms": 20_000, "linger.ms": 0})
    outcome: dict[str, int | None] = {}
    for name in TOPICS:
        producer.produce(
            name,
            b'{"url":"http://a.example/"}',
            on_delivery=lambda failure, record: outcome.update({record.topic(): failure and failure.code()}),
        )
    assert producer.flush(40) == 0

    refused = {name for name, code in outcome.items() if code == KafkaError.TOPIC_AUTHORIZATION_FAILED}
    taken = {name for name, code in outcome.items() if code is None}
    record_figure(f"messages of anyone: topics taken={len(taken)} refused={len(refused)}")
    assert taken == public
    assert refused == TOPICS.keys() - public


async def test_anyone_can_read_nothing(allowed: SecuredBroker) -> None:
    """Neither records nor groups: reading needs a permission of its own, also on the public topic."""
    consumer = Consumer({**allowed.foreign(STRANGER), "group.id": "mine", "auto.offset.reset": "earliest"})
    errors, deadline = set[int](), time.monotonic() + 30
    try:
        consumer.assign([TopicPartition("seeds-submitted", 0, 0)])
        while KafkaError.TOPIC_AUTHORIZATION_FAILED not in errors and time.monotonic() < deadline:
            if (record := consumer.poll(1)) is not None:
                assert record.error() is not None, "a stranger read what others have submitted"
                errors.add(record.error().code())
    finally:
        consumer.close()
    admin = AdminClient(allowed.foreign(STRANGER))
    for answer in admin.describe_consumer_groups(["scheduler"]).values():
        with pytest.raises(KafkaException) as refusal:
            answer.result(timeout=30)
        errors.add(refusal.value.args[0].code())

    bus = KafkaBus(allowed.connection(STRANGER))
    for name in TOPICS.keys() - {"seeds-submitted", "echo-requests"}:
        with pytest.raises(Unavailable, match="code 29, TopicAuthorizationFailedError"):
            await bus.partition_count(name)
    await bus.close()

    assert errors == {KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.GROUP_AUTHORIZATION_FAILED}


async def test_a_service_cannot_take_another_services_shard(allowed: SecuredBroker) -> None:
    """Fencing the scheduler needs its transactional id, which only its own user may use."""
    async with asyncio.timeout(120):
        bus = KafkaBus(allowed.connection("strider-scheduler"))
        writer = await bus.take_shard("scheduler", 0)
        intruder = KafkaBus(allowed.connection("strider-fetcher"))
        with pytest.raises(Exception, match="TransactionalIdAuthorizationFailed"):
            await intruder.take_shard("scheduler", 0)
        assert writer.epoch >= 0
        await intruder.close()
        await bus.close()


async def test_quotas_slow_strangers_and_not_our_services(allowed: SecuredBroker, tmp_path: Path) -> None:
    """A stranger who writes twenty times what it may write is held back; a service writes as before."""
    quota = 50_000
    command = ("topics", "apply", "--examples", "--producer-quota", str(quota))
    done = strider(allowed, ADMIN, *command, place=tmp_path)
    again = strider(allowed, ADMIN, *command, place=tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"set the quota of User:* to {quota} bytes a second\n" in done.stdout
    assert "set the quota of User:strider-link-ingestion to " in done.stdout
    assert again.stdout == "all topics are as declared\nall users may do what is declared\n"

    async def throttled_ms(user: str) -> float:
        largest = 0.0

        def note(event: str) -> None:
            nonlocal largest
            brokers = json.loads(event)["brokers"].values()
            largest = max([largest, *(broker.get("throttle", {}).get("max", 0) for broker in brokers)])

        settings = {**allowed.foreign(user), "statistics.interval.ms": 200, "linger.ms": 0}
        producer = Producer({**settings, "stats_cb": note, "batch.num.messages": 1})
        for _ in range(20):
            producer.produce("seeds-submitted", b"x" * quota)
        deadline = asyncio.get_running_loop().time() + 20
        while asyncio.get_running_loop().time() < deadline and not largest:
            left = await asyncio.to_thread(producer.flush, 0.5)
            producer.poll(0)
            if not left and user != STRANGER:
                break
        producer.purge()
        return largest

    stranger, service = await throttled_ms(STRANGER), await throttled_ms("strider-api")
    record_figure(f"quota of {quota} bytes/s: a stranger waits {stranger:.0f} ms, a service {service:.0f} ms")
    assert stranger > 0
    assert service == 0


async def test_a_missing_permission_is_named(allowed: SecuredBroker) -> None:
    """A service with the wrong user says what it may not do, and continues once it may."""
    bus = KafkaBus(allowed.connection("strider-validator"))
    with pytest.raises(Exception, match="frontier: code 29, TopicAuthorizationFailedError"):
        await bus.partition_count("frontier")
    producer = await bus.producer()
    with pytest.raises(Exception, match="TopicAuthorizationFailed"):
        await (await producer.send(OutgoingMessage("fetch-requests", b"k", b"v")))
    await bus.close()


async def test_a_broker_without_an_authorizer_is_named(kafka_bootstrap: str) -> None:
    with pytest.raises(StartRefused, match=r"authorizer\.class\.name"):
        await apply_access(KafkaConnection((kafka_bootstrap,)), DECLARED, AccessOptions(acls=True))
    with pytest.raises(StartRefused, match="without a login"):
        await apply_access(KafkaConnection((kafka_bootstrap,)), DECLARED, AccessOptions(producer_quota=1))
