"""SSRF guard, DNS and TLS: whether the connected peer is the one that was meant."""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from collections.abc import Sequence
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest

from strider.fetcher.adapters.http.dns import DnsOptions
from strider.testing.hostile import http_response, sends, serve_hostile
from tests.integration.fetcher.http.runner import TableLookup, lookup_from, request, running_client

CERTIFICATES = Path(__file__).parents[1] / "certificates"


def _tls(name: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATES / name)
    return context


def _never(_host: str) -> Sequence[str]:
    raise AssertionError("the name is not to be resolved")


HANGS = TableLookup(lambda _host: ("127.0.0.1",), seconds=5.0)


@pytest.mark.fault("S1", "S2", "S6")
@pytest.mark.parametrize(
    ("url", "allow_private", "lookup", "error"),
    [
        pytest.param("http://nowhere.test/", True, lookup_from(), "dns_not_found", id="no-such-name"),
        pytest.param("http://empty.test/", True, lookup_from(empty_test=()), "dns_empty", id="no-address"),
        pytest.param("http://slow.test/", True, HANGS, "dns_timeout", id="name-servers-hang"),
        pytest.param("http://127.0.0.1:1/", False, _never, "refused_address", id="loopback"),
        pytest.param("http://[::1]:1/", False, _never, "refused_address", id="loopback-v6"),
        pytest.param("http://[::ffff:10.0.0.1]/", False, _never, "refused_address", id="mapped"),
        pytest.param("http://0x7f.1/", False, _never, "refused_address", id="odd-spelling"),
        pytest.param("http://localhost:1/", False, _never, "refused_host", id="localhost"),
        pytest.param("http://db.internal/", False, _never, "refused_host", id="inner-name"),
        pytest.param("http://169.254.169.254/", True, _never, "refused_address", id="vault-though-allowed"),
        pytest.param("http://metadata.google.internal/", True, _never, "refused_host", id="vault-by-name"),
        pytest.param("file:///etc/passwd", True, _never, "refused_scheme", id="file"),
        pytest.param(
            "http://in.test/",
            False,
            lookup_from(in_test=("10.0.0.1",)),
            "refused_address",
            id="name-that-leads-in",
        ),
        pytest.param(
            "http://mixed.test/",
            False,
            lookup_from(mixed_test=("93.184.216.34", "192.168.0.1")),
            "refused_address",
            id="mixed-addresses",
        ),
        pytest.param(
            "http://vault.test/",
            True,
            lookup_from(vault_test=("169.254.169.254",)),
            "refused_address",
            id="name-that-leads-to-the-vault",
        ),
    ],
)
@pytest.mark.req("S3.17.6")
async def test_forbidden_addresses_are_refused_before_a_socket_is_made(
    url: str, allow_private: bool, lookup: Any, error: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A crawler that can be led to private addresses is a tool for the authors of links."""
    names = DnsOptions(timeout_seconds=0.1)
    async with running_client(allow_private=allow_private, lookup=lookup, names=names) as client:
        monkeypatch.setattr("strider.fetcher.adapters.http.connector.socket.socket", _refuse_to_connect)
        completed = (await client.fetch(request(url))).completed

    outcome = {"dns_timeout": "timed_out"}.get(error, "network_failed")
    wanted = "policy_blocked" if error.startswith("refused") else outcome
    assert (completed.outcome, completed.error_class, completed.before_connect) == (wanted, error, True)


def _refuse_to_connect(*_args: object, **_more: object) -> None:
    raise AssertionError("a socket was made")


@pytest.mark.fault("S4")
async def test_dns_rebinding_to_a_private_address_is_refused() -> None:
    """DNS rebinding: an address that was checked once is checked again, at each connection."""
    answers = iter([("127.0.0.1",), ("169.254.169.254",)])
    names = DnsOptions(max_ttl_seconds=0.01)
    async with (
        serve_hostile({"/": sends(http_response(), then_close=True)}) as server,
        running_client(lookup=lambda _host: next(answers), names=names) as client,
    ):
        first = (await client.fetch(request(server.url("/", host="moving.test")))).completed
        await asyncio.sleep(0.05)
        second = (await client.fetch(request(server.url("/", host="moving.test")))).completed

    assert (first.outcome, second.outcome, second.error_class) == (
        "fetched",
        "policy_blocked",
        "refused_address",
    )


async def test_the_socket_guard_refuses_what_the_resolver_let_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last check is of the address that is connected to, wherever it came from."""
    lookup = lookup_from(fooled_test=("127.0.0.1",))
    async with (
        serve_hostile({"/": sends(http_response())}) as server,
        running_client(allow_private=False, lookup=lookup) as client,
    ):
        monkeypatch.setattr("strider.fetcher.adapters.http.dns.DnsResolver._refusal_of", lambda *_: None)
        completed = (await client.fetch(request(server.url("/", host="fooled.test")))).completed

    assert (completed.outcome, completed.error_class) == ("policy_blocked", "refused_address")
    assert server.connections == 0


async def test_ports_and_networks_are_allowed_by_lists() -> None:
    """For a forbidden port, no name is resolved and no connection made."""
    loopback = (ip_network("127.0.0.0/8"),)
    async with serve_hostile({"/": sends(http_response())}) as server:
        open_ports = frozenset({80, server.port})
        async with running_client(allow_private=False, networks=loopback, ports=open_ports) as client:
            fetched = (await client.fetch(request(server.url("/")))).completed
            closed = (await client.fetch(request("http://127.0.0.1:6379/"))).completed
            vault = (await client.fetch(request("http://169.254.169.254/"))).completed

    assert (fetched.outcome, closed.error_class, vault.error_class) == (
        "fetched",
        "refused_port",
        "refused_address",
    )


@pytest.mark.fault("S11", part="certificates that do not verify")
@pytest.mark.req("S3.1.1", part="over HTTPS, with certificates verified")
@pytest.mark.parametrize(
    ("certificate", "host", "trusted", "error"),
    [
        pytest.param("good.pem", "good.localhost", True, "", id="good"),
        pytest.param("expired.pem", "good.localhost", True, "tls_expired", id="expired"),
        pytest.param("good.pem", "other.localhost", True, "tls_wrong_name", id="wrong-name"),
        pytest.param("good.pem", "good.localhost", False, "tls_untrusted", id="untrusted"),
    ],
)
async def test_certificates_are_verified(certificate: str, host: str, trusted: bool, error: str) -> None:
    ca_file = str(CERTIFICATES / "authority.pem") if trusted else ""
    async with (
        serve_hostile({"/": sends(http_response())}, tls=_tls(certificate)) as server,
        running_client(ca_file=ca_file) as client,
    ):
        completed = (await client.fetch(request(server.url("/", host=host, scheme="https")))).completed
        insecure = await client.fetch(request(server.url("/", host=host, scheme="https"), insecure_tls=True))

    assert (completed.error_class, completed.tls_verified) == (error, True)
    assert completed.outcome == ("network_failed" if error else "fetched")
    assert (completed.tls_us > 0) == (not error)
    assert (insecure.completed.outcome, insecure.completed.tls_verified) == ("fetched", False)


@pytest.mark.parametrize(
    ("version", "errors"),
    [
        # Some servers send an alert before they close, and some do not.
        pytest.param(ssl.TLSVersion.TLSv1, {"tls_failed", "connection_reset"}, id="1.0"),
        pytest.param(ssl.TLSVersion.TLSv1_1, {"tls_failed", "connection_reset"}, id="1.1"),
        pytest.param(ssl.TLSVersion.TLSv1_2, {""}, id="1.2"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*deprecated:DeprecationWarning")
async def test_old_tls_versions_are_refused(version: ssl.TLSVersion, errors: set[str]) -> None:
    """Not even if certificates are not verified."""
    context = _tls("good.pem")
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version, context.maximum_version = version, version
    async with (
        serve_hostile({"/": sends(http_response())}, tls=context) as server,
        running_client() as client,
    ):
        url = server.url("/", host="good.localhost", scheme="https")
        completed = (await client.fetch(request(url, insecure_tls=True))).completed

    assert (completed.error_class in errors, completed.started_at_us > 0) == (True, errors == {""})


async def test_a_server_without_tls_fails_the_handshake() -> None:
    async with serve_hostile({"/": sends(http_response())}) as server, running_client() as client:
        completed = (
            await client.fetch(request(server.url("/", scheme="https"), deadline_ms=1_000))
        ).completed

    assert completed.outcome in {"network_failed", "timed_out"}
    assert completed.error_class in {"tls_failed", "connection_reset", "tls_timeout"}
    assert completed.started_at_us == 0


def _serve_late(listening: socket.socket, asked: list[bytes]) -> None:
    """Accept one connection, delay its handshake, and respond to the request on it."""
    connection, _ = listening.accept()
    time.sleep(2.1)
    with _tls("good.pem").wrap_socket(connection, server_side=True) as secure:
        while head := secure.recv(65_536):
            asked.append(head)
            secure.sendall(http_response())


async def test_a_connection_that_was_too_late_serves_the_next_try() -> None:
    """A site that is slow to connect is reached nevertheless, but never long after a mark."""
    asked: list[bytes] = []
    ca_file = str(CERTIFICATES / "authority.pem")
    with socket.create_server(("127.0.0.1", 0)) as listening:
        serving = asyncio.create_task(asyncio.to_thread(_serve_late, listening, asked))
        async with running_client(ca_file=ca_file) as client:
            url = f"https://good.localhost:{listening.getsockname()[1]}/"
            first = (await client.fetch(request(url, deadline_ms=9_000))).completed
            second = (await client.fetch(request(url, deadline_ms=9_000))).completed
        await serving

    assert (first.outcome, first.error_class, first.started_at_us) == ("timed_out", "tls_timeout", 0)
    assert (second.outcome, second.connection_reused, len(asked)) == ("fetched", True, 1)


@pytest.mark.req("S3.21.9")
async def test_a_site_that_has_moved_is_found_with_the_next_request() -> None:
    """Addresses are cached for a minute, unless none of them can be connected to."""
    asked: list[str] = []

    def look(host: str) -> Sequence[str]:
        asked.append(host)
        return ("127.0.0.2",) if len(asked) == 1 else ("127.0.0.1",)

    async with serve_hostile({"/": sends(http_response())}) as server, running_client(lookup=look) as client:
        wanted = request(server.url("/", host="moved.test"))
        ends = [(await client.fetch(wanted)).completed for _ in range(3)]

    assert [end.error_class or end.outcome for end in ends] == ["connect_refused", "fetched", "fetched"]
    assert asked == ["moved.test"] * 2, "what serves is not asked for again"
