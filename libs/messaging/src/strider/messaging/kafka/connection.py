"""Connection settings of Kafka clients: addresses, credentials, timeouts, batch sizes.

Decides which arguments every client of the library gets. Knows nothing of topics, groups or shards.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from typing import Any, Final

from strider.messaging.errors import StartRefused

from .patches.bounded_decompression import DEFAULT_LIMIT_BYTES

PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
CODECS: Final = (None, "zstd")
"""Codecs that are written. The library's lz4 runs at level 9 and costs twenty times zstd; gzip costs more."""


@dataclass(frozen=True, slots=True)
class KafkaConnection:
    """Addresses, credentials and timeouts; validated on construction, so that a typo is no outage."""

    bootstrap_servers: tuple[str, ...]
    client_id: str = "strider"
    security_protocol: str = "PLAINTEXT"
    sasl_mechanism: str = "SCRAM-SHA-512"
    sasl_username: str = ""
    sasl_password: str = field(default="", repr=False)
    ssl_ca_file: str = ""
    ssl_cert_file: str = ""
    ssl_key_file: str = ""
    ssl_key_password: str = field(default="", repr=False)
    request_timeout_seconds: float = 30.0
    """How long one request to the broker may take before it counts as unanswered."""
    close_timeout_seconds: float = 10.0
    """How long a client may take to close before it is dropped."""
    transaction_timeout_seconds: float = 60.0
    """When the broker aborts a transaction that was not ended. Longer than `commit_timeout_seconds`."""
    commit_timeout_seconds: float = 30.0
    """When a shard's writer gives up a commit whose outcome it cannot learn."""
    batch_bytes: int = 256 * 1024
    """Size at which a batch for one partition is full."""
    message_bytes: int = 1024 * 1024 - 1024
    """Largest record that is sent at all: the broker's default limit, less a batch's own header."""
    max_decompressed_batch_bytes: int = DEFAULT_LIMIT_BYTES
    """Largest record batch that is decompressed; a larger one is skipped, and reported. It holds for all
    consumers of a process.
    """
    max_fetch_pause_seconds: float = 0.1
    """Longest pause of a consumer between two fetches of a steady flow, so that each brings more.

    At 150 messages a second half as long a pause costs a service a quarter more; twice as long saves it
    another tenth, and every page would take half a second longer.
    """
    max_send_pause_seconds: float = 0.05
    """Longest pause of a producer between two sends."""

    def __post_init__(self) -> None:
        """Refuse settings that no broker could be reached with."""
        if not self.bootstrap_servers:
            raise StartRefused("no Kafka broker is named: set KAFKA_BOOTSTRAP_SERVERS")
        if self.security_protocol not in PROTOCOLS:
            raise StartRefused(
                f"security protocol {self.security_protocol} is none of {', '.join(PROTOCOLS)}"
            )
        if self.uses_sasl and self.sasl_mechanism not in MECHANISMS:
            raise StartRefused(f"SASL mechanism {self.sasl_mechanism} is none of {', '.join(MECHANISMS)}")
        if self.uses_sasl and not (self.sasl_username and self.sasl_password):
            raise StartRefused(f"{self.security_protocol} needs a user name and a password")
        if self.commit_timeout_seconds >= self.transaction_timeout_seconds:
            raise StartRefused("the commit timeout must be shorter than the transaction timeout")

    @property
    def uses_sasl(self) -> bool:
        """Whether the broker wants a name and a password."""
        return self.security_protocol.startswith("SASL")

    @property
    def uses_tls(self) -> bool:
        """Whether the connection is encrypted."""
        return self.security_protocol.endswith("SSL")

    def client_arguments(self, *, request_timeout_seconds: float | None = None) -> dict[str, Any]:
        """Return the arguments that every client of the library takes."""
        timeout = request_timeout_seconds or self.request_timeout_seconds
        arguments: dict[str, Any] = {
            "bootstrap_servers": list(self.bootstrap_servers),
            "client_id": self.client_id,
            "security_protocol": self.security_protocol,
            "request_timeout_ms": round(timeout * 1000),
            "metadata_max_age_ms": 60_000,
        }
        if self.uses_tls:
            arguments["ssl_context"] = self._tls_context()
        if self.uses_sasl:
            arguments["sasl_mechanism"] = self.sasl_mechanism
            arguments["sasl_plain_username"] = self.sasl_username
            arguments["sasl_plain_password"] = self.sasl_password
        return arguments

    def _tls_context(self) -> ssl.SSLContext:
        try:
            context = ssl.create_default_context(cafile=self.ssl_ca_file or None)
            if self.ssl_cert_file:
                # A key without its password must fail here, not prompt on a terminal.
                password = self.ssl_key_password
                context.load_cert_chain(self.ssl_cert_file, self.ssl_key_file or None, lambda: password)
        except (OSError, ssl.SSLError) as error:
            raise StartRefused(f"the TLS files for Kafka cannot be used: {error}") from error
        return context


def check_compression(compression: str | None) -> str | None:
    """Return the codec if it is supported; refuse it otherwise."""
    if compression not in CODECS:
        raise StartRefused(f"codec {compression} is not supported: use none or zstd")
    return compression
