"""A broker with logins and permissions: Kafka's own authorizer, and one listener that requires SASL.

Its other listener is the test's own: who comes in there is the administrator.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka.admin import (
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from strider.localstack.servers.factory import build_kafka
from strider.localstack.servers.ports import LOOPBACK, choose_ports
from strider.messaging.kafka import KafkaConnection
from strider.testing.stack import RunningServer

ADMIN = "admin"
_LOGIN = "org.apache.kafka.common.security.scram.ScramLoginModule required;"


@dataclass(frozen=True, slots=True)
class SecuredBroker:
    """A running broker, and how one logs in to it."""

    running: RunningServer
    login_address: str

    @property
    def open_address(self) -> str:
        """Where the test itself connects, as an administrator."""
        return self.running.address

    def add_users(self, users: Iterable[str]) -> None:
        """Give users a password, which is `secret-` and the name."""
        admin = AdminClient({"bootstrap.servers": self.open_address})
        credential = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
        changes = [UserScramCredentialUpsertion(user, credential, _password(user).encode()) for user in users]
        for answer in admin.alter_user_scram_credentials(changes).values():
            answer.result(timeout=30)

    def connection(self, user: str) -> KafkaConnection:
        """Return the connection of a user for our own clients."""
        return KafkaConnection(
            (self.login_address,),
            security_protocol="SASL_PLAINTEXT",
            sasl_username=user,
            sasl_password=_password(user),
            request_timeout_seconds=15,
        )

    def variables(self, user: str) -> Mapping[str, str]:
        """Return the settings of a service or command that logs in as this user."""
        return {
            "KAFKA_BOOTSTRAP_SERVERS": self.login_address,
            "KAFKA_SECURITY_PROTOCOL": "SASL_PLAINTEXT",
            "KAFKA_SASL_USERNAME": user,
            "KAFKA_SASL_PASSWORD": _password(user),
        }

    def foreign(self, user: str) -> dict[str, str]:
        """Return the settings of another client library, which knows nothing of ours."""
        return {
            "bootstrap.servers": self.login_address,
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.username": user,
            "sasl.password": _password(user),
        }


@contextmanager
def secured_broker(place: Path) -> Iterator[SecuredBroker]:
    """Start the broker in that folder, and stop it."""
    ports = choose_ports(("kafka", "kafka-controller", "login"), place, remembered={})
    login = f"{LOOPBACK}:{ports['login']}"
    broker = f"BROKER://{LOOPBACK}:{ports['kafka']}"
    extra = {
        "listeners": f"{broker},CONTROLLER://{LOOPBACK}:{ports['kafka-controller']},LOGIN://{login}",
        "advertised.listeners": f"{broker},LOGIN://{login}",
        "listener.security.protocol.map": "BROKER:PLAINTEXT,CONTROLLER:PLAINTEXT,LOGIN:SASL_PLAINTEXT",
        "listener.name.login.sasl.enabled.mechanisms": "SCRAM-SHA-512",
        "listener.name.login.scram-sha-512.sasl.jaas.config": _LOGIN,
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": f"User:ANONYMOUS;User:{ADMIN}",
    }
    part = build_kafka(place, ports=ports, environment=os.environ, fast_start=True, extra=extra)
    running = RunningServer.from_server(part)
    try:
        running.start()
        secured = SecuredBroker(running, login)
        secured.add_users([ADMIN])
        yield secured
    finally:
        running.close()


def _password(user: str) -> str:
    return f"secret-{user}"
