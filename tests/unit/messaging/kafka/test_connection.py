"""Address and credentials: refused at once when they cannot work, and never shown."""

from __future__ import annotations

from dataclasses import replace

import pytest

from strider.messaging.errors import StartRefused
from strider.messaging.kafka import KafkaConnection
from strider.messaging.kafka.connection import check_compression

PLAIN = KafkaConnection(("broker:9092",))
SASL = replace(PLAIN, security_protocol="SASL_PLAINTEXT", sasl_username="me", sasl_password="secret")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        pytest.param({"bootstrap_servers": ()}, "KAFKA_BOOTSTRAP_SERVERS", id="no-broker"),
        pytest.param({"security_protocol": "TLS"}, "TLS is none of", id="protocol"),
        pytest.param({"sasl_mechanism": "GSSAPI"}, "GSSAPI is none of", id="mechanism"),
        pytest.param({"sasl_password": ""}, "user name and a password", id="no-password"),
        pytest.param({"commit_timeout_seconds": 60.0}, "commit timeout", id="timeouts"),
    ],
)
def test_what_cannot_work_is_refused(changes: dict[str, object], words: str) -> None:
    with pytest.raises(StartRefused, match=words):
        replace(SASL, **changes)


def test_secrets_are_not_shown() -> None:
    connection = replace(SASL, ssl_key_password="hush")
    assert "secret" not in repr(connection)
    assert "hush" not in repr(connection)


def test_plain_clients_get_no_credentials() -> None:
    assert replace(PLAIN, sasl_username="me", sasl_password="secret").client_arguments() == {
        "bootstrap_servers": ["broker:9092"],
        "client_id": "strider",
        "security_protocol": "PLAINTEXT",
        "request_timeout_ms": 30_000,
        "metadata_max_age_ms": 60_000,
    }


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_a_login_is_passed_on(mechanism: str) -> None:
    arguments = replace(SASL, sasl_mechanism=mechanism).client_arguments(request_timeout_seconds=5)
    chosen = {name: value for name, value in arguments.items() if name.startswith("sasl")}
    assert chosen == {
        "sasl_mechanism": mechanism,
        "sasl_plain_username": "me",
        "sasl_plain_password": "secret",
    }
    assert arguments["request_timeout_ms"] == 5000


@pytest.mark.parametrize("protocol", ["SSL", "SASL_SSL"])
def test_tls_checks_the_brokers_name(protocol: str) -> None:
    context = replace(SASL, security_protocol=protocol).client_arguments()["ssl_context"]
    assert context.check_hostname


def test_tls_files_that_cannot_be_read_are_named() -> None:
    connection = replace(PLAIN, security_protocol="SSL", ssl_ca_file="/nowhere/ca.pem")
    with pytest.raises(StartRefused, match="TLS files"):
        connection.client_arguments()


@pytest.mark.parametrize("codec", ["lz4", "gzip", "snappy", "zip"])
def test_codecs_that_cost_too_much_are_not_written(codec: str) -> None:
    """lz4 runs at its slowest level in the library: twenty times the CPU of zstd."""
    with pytest.raises(StartRefused, match=codec):
        check_compression(codec)
    assert (check_compression(None), check_compression("zstd")) == (None, "zstd")
