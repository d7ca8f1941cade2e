"""A name server on loopback, by UDP and TCP: records, failures, silence, lies."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Final, cast

A, CNAME, AAAA = 1, 5, 28
NOERROR, SERVFAIL, NXDOMAIN, REFUSED = 0, 2, 3, 5

_RESPONSE: Final = 0x8180
"""A response with recursion desired and available."""
_TRUNCATED: Final = 0x0200
_MAX_UDP_BYTES: Final = 1232
_MAX_ALIASES: Final = 16
_PORT_ATTEMPTS: Final = 20
LYING_ADDRESS: Final = "198.51.100.66"
"""Address in responses with a wrong id."""


@dataclass(frozen=True, slots=True)
class Zone:
    """The behaviour of one name, or of all names below it."""

    addresses: tuple[str, ...] = ()
    cname: str = ""
    """The name that it is an alias of."""
    ttl: int = 60
    rcode: int = NOERROR
    hangs: bool = False
    """No response at all."""
    wrong_ids: int = 0
    """Responses with a wrong id and other addresses, sent before the right one."""


@dataclass
class NameServer:
    """Serves zones, and counts the queries."""

    zones: Mapping[str, Zone]
    """By name; `*.b.test` is any name below `b.test`. Names without a zone do not exist."""
    port: int = 0
    queries: Counter[str] = field(default_factory=Counter)
    """By name, without final dot; each query of A and AAAA counts."""
    tcp_queries: int = 0
    connections: set[asyncio.StreamWriter] = field(default_factory=set)

    @property
    def address(self) -> str:
        """Address and port, as a resolver is configured with it."""
        return f"127.0.0.1:{self.port}"

    def respond(self, query: bytes, *, is_tcp: bool) -> list[bytes]:
        """Return the responses to a query: usually one."""
        (query_id,) = struct.unpack_from(">H", query)
        name, end = _read_name(query, 12)
        (kind,) = struct.unpack_from(">H", query, end)
        question = query[12 : end + 4]
        self.queries[name] += 1
        self.tcp_queries += is_tcp
        zone = self._zone_of(name)
        if zone.hangs:
            return []
        records = _records_of(zone, kind, self._alias_chain(zone))
        right = _response(query_id, question, records, zone.rcode)
        if not is_tcp and len(right) > _MAX_UDP_BYTES:
            right = _header(query_id, _RESPONSE | _TRUNCATED) + question
        lies = _records_of(Zone((LYING_ADDRESS,)), kind, [])
        wrong = [_response(query_id ^ (n + 1), question, lies, NOERROR) for n in range(zone.wrong_ids)]
        return [*wrong, right]

    def _alias_chain(self, zone: Zone) -> list[tuple[str, Zone]]:
        """Return the targets of an alias with their zones, as a recursive server resolves them."""
        chain: list[tuple[str, Zone]] = []
        while zone.cname and len(chain) < _MAX_ALIASES:
            zone, name = self._zone_of(zone.cname), zone.cname
            chain.append((name, zone))
        return chain

    def _zone_of(self, name: str) -> Zone:
        parent = name.partition(".")[2]
        return self.zones.get(name) or self.zones.get(f"*.{parent}") or Zone(rcode=NXDOMAIN)

    async def serve_tcp(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        self.connections.add(writer)
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                (length,) = struct.unpack(">H", await reader.readexactly(2))
                for response in self.respond(await reader.readexactly(length), is_tcp=True):
                    writer.write(struct.pack(">H", len(response)) + response)
                    await writer.drain()
        await self.close_connection(writer)

    async def close_connection(self, writer: asyncio.StreamWriter) -> None:
        """Close one connection, and wait until it is closed."""
        self.connections.discard(writer)
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


class _Datagrams(asyncio.DatagramProtocol):
    """Passes datagrams to a server."""

    def __init__(self, server: NameServer) -> None:
        self._server = server
        self._transport: asyncio.DatagramTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.DatagramTransport", transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        assert self._transport is not None
        for response in self._server.respond(data, is_tcp=False):
            self._transport.sendto(response, addr)


@contextlib.asynccontextmanager
async def serve_names(zones: Mapping[str, Zone], *, port: int = 0) -> AsyncIterator[NameServer]:
    """Serve names on a port of 127.0.0.1 (0: a free one), by UDP and TCP, while the context lasts."""
    server = NameServer(zones)
    listening, transport = await _listen(server, port)
    try:
        yield server
    finally:
        transport.close()
        listening.close()
        await asyncio.gather(*map(server.close_connection, list(server.connections)))


async def _listen(server: NameServer, port: int) -> tuple[asyncio.Server, asyncio.DatagramTransport]:
    """Listen on one port by TCP and UDP; one that is free for TCP may be a client's for UDP."""
    for attempt in range(_PORT_ATTEMPTS):
        listening = await asyncio.start_server(server.serve_tcp, "127.0.0.1", port)
        server.port = listening.sockets[0].getsockname()[1]
        try:
            transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(
                lambda: _Datagrams(server), local_addr=("127.0.0.1", server.port), family=socket.AF_INET
            )
        except OSError:
            listening.close()
            if attempt == _PORT_ATTEMPTS - 1:
                raise
        else:
            return listening, transport
    raise AssertionError("unreachable: the last attempt returns or raises")


def _read_name(message: bytes, at: int) -> tuple[str, int]:
    labels = []
    while length := message[at]:
        labels.append(message[at + 1 : at + 1 + length].decode("latin-1").lower())
        at += 1 + length
    return ".".join(labels), at + 1


def _name_bytes(name: str) -> bytes:
    return b"".join(bytes([len(label)]) + label.encode() for label in name.split(".")) + b"\0"


def _header(query_id: int, flags: int, records: int = 0) -> bytes:
    return struct.pack(">6H", query_id, flags, 1, records, 0, 0)


def _response(query_id: int, question: bytes, records: list[bytes], rcode: int) -> bytes:
    return _header(query_id, _RESPONSE | rcode, len(records)) + question + b"".join(records)


def _records_of(zone: Zone, kind: int, chain: list[tuple[str, Zone]]) -> list[bytes]:
    """Return the records of a zone, and of the names that it is an alias of."""
    records, owner = [], b"\xc0\x0c"  # a pointer to the question
    for name, target in [*chain, ("", Zone())]:
        version = 4 if kind == A else 6 if kind == AAAA else 0
        addresses = [each for each in map(ip_address, zone.addresses) if each.version == version]
        records += [_record(owner, kind, zone.ttl, each.packed) for each in addresses]
        if not name:
            break
        records.append(_record(owner, CNAME, zone.ttl, _name_bytes(name)))
        zone, owner = target, _name_bytes(name)
    return records


def _record(owner: bytes, kind: int, ttl: int, data: bytes) -> bytes:
    return owner + struct.pack(">HHIH", kind, 1, ttl, len(data)) + data
