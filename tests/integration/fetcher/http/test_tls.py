"""TLS servers with huge certificates and chains, that want a client certificate, or that require SNI."""

from __future__ import annotations

import ssl
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from strider.contracts.generated.events import FetchCompleted
from strider.testing.hostile import HostileServer, http_response, sends, serve_hostile
from tests.figures import record_figure
from tests.integration.fetcher.http.runner import request, running_client

HOST = "site.localhost"
MOST_SECONDS = 2.0
"""For one request on a busy machine; its deadline is 4 s."""

REFUSED = {"tls_failed", "connection_reset", "connection_closed"}
"""With or without an alert before the close, which in TLS 1.3 follows the handshake of the client."""


@dataclass(frozen=True)
class Authority:
    """A certificate authority with its key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey


def _issue(
    name: str, key: ec.EllipticCurvePrivateKey, by: Authority | None, *, names: int
) -> x509.Certificate:
    """Issue a certificate: an authority's if `names` is 0, else one for so many names."""
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject if by is None else by.certificate.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=not names, path_length=None), critical=True)
    )
    if names:
        others = [x509.DNSName(f"n{number}.other.test") for number in range(names - 1)]
        builder = builder.add_extension(
            x509.SubjectAlternativeName([x509.DNSName(HOST), *others]), critical=False
        )
    return builder.sign(key if by is None else by.key, hashes.SHA256())


@cache
def _authority() -> Authority:
    key = ec.generate_private_key(ec.SECP256R1())
    return Authority(_issue("Test authority", key, None, names=0), key)


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _server_context(folder: Path, *, names: int = 1, extra: int = 0, depth: int = 0) -> ssl.SSLContext:
    """Return a context with a certificate for so many names, after `depth` authorities, and useless ones."""
    issuer, chain = _authority(), []
    for number in range(depth):
        key = ec.generate_private_key(ec.SECP256R1())
        issuer = Authority(_issue(f"Authority {number}", key, issuer, names=0), key)
        chain.insert(0, _pem(issuer.certificate))
    key = ec.generate_private_key(ec.SECP256R1())
    leaf = _issue(HOST, key, issuer, names=names)
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path = folder / "server.pem"
    path.write_bytes(secret + _pem(leaf) + b"".join(chain) + _pem(_authority().certificate) * extra)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    return context


async def _fetch(folder: Path, context: ssl.SSLContext, host: str = HOST) -> tuple[FetchCompleted, float]:
    """Fetch a page with the authority trusted; return how it ended, and the seconds it took."""
    ca_file = folder / "authority.pem"
    ca_file.write_bytes(_pem(_authority().certificate))
    async with (
        serve_hostile({"/": sends(http_response())}, tls=context) as server,
        running_client(ca_file=str(ca_file)) as client,
    ):
        began = time.monotonic()
        ended = await client.fetch(request(_url(server, host), deadline_ms=4_000))
        return ended.completed, time.monotonic() - began


def _url(server: HostileServer, host: str) -> str:
    return server.url("/", host=host, scheme="https")


@pytest.mark.fault("S11", part="huge certificates and chains")
@pytest.mark.parametrize(
    ("names", "extra", "depth", "outcomes"),
    [
        pytest.param(1, 0, 10, {("fetched", "")}, id="ten-authorities"),
        pytest.param(1, 150, 0, {("fetched", "")}, id="useless-certificates"),
        pytest.param(
            1,
            2_000,
            0,
            {("network_failed", "tls_failed"), ("network_failed", "connection_reset")},
            id="a-megabyte-of-certificates",
        ),
        pytest.param(
            20_000,
            0,
            0,
            {("network_failed", "tls_failed"), ("network_failed", "connection_reset")},
            id="twenty-thousand-names",
        ),
        pytest.param(1, 0, 110, {("network_failed", "tls_untrusted")}, id="hundred-and-ten-authorities"),
    ],
)
async def test_a_huge_chain_costs_no_more_than_its_limit(
    tmp_path: Path, names: int, extra: int, depth: int, outcomes: set[tuple[str, str]]
) -> None:
    """The TLS library reads at most 100 KB of certificates, and verifies at most a hundred of them."""
    ended, seconds = await _fetch(tmp_path, _server_context(tmp_path, names=names, extra=extra, depth=depth))

    assert (ended.outcome, ended.error_class) in outcomes
    assert seconds < MOST_SECONDS
    record_figure(f"chain names={names} useless={extra} depth={depth}: {ended.outcome} in {seconds:.2f} s")


@pytest.mark.fault("S11", part="requests for a client certificate")
@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
@pytest.mark.parametrize(
    ("mode", "outcome"),
    [
        pytest.param(ssl.CERT_OPTIONAL, "fetched", id="optional"),
        pytest.param(ssl.CERT_REQUIRED, "network_failed", id="required"),
    ],
)
async def test_a_client_certificate_is_never_sent(
    tmp_path: Path, version: ssl.TLSVersion, mode: ssl.VerifyMode, outcome: str
) -> None:
    context = _server_context(tmp_path)
    context.load_verify_locations(cadata=_pem(_authority().certificate).decode())
    context.verify_mode = mode
    context.minimum_version = context.maximum_version = version

    ended, seconds = await _fetch(tmp_path, context)

    assert ended.outcome == outcome
    assert ended.error_class in ({""} if outcome == "fetched" else REFUSED)
    assert seconds < MOST_SECONDS


@pytest.mark.fault("S11", part="servers that require SNI")
async def test_the_name_of_the_host_is_sent_and_an_address_has_none(tmp_path: Path) -> None:
    """A server that knows no certificate without a name refuses the handshake."""
    context, sent = _server_context(tmp_path), []

    def choose(
        _socket: ssl.SSLObject | ssl.SSLSocket, name: str | None, _context: ssl.SSLContext
    ) -> int | None:
        sent.append(name)
        return None if name == HOST else ssl.ALERT_DESCRIPTION_UNRECOGNIZED_NAME

    context.sni_callback = choose

    named, _ = await _fetch(tmp_path, context)
    unnamed, _ = await _fetch(tmp_path, context, host="127.0.0.1")

    assert (named.outcome, sent) == ("fetched", [HOST, None])
    assert unnamed.outcome == "network_failed"
    assert unnamed.error_class in REFUSED
