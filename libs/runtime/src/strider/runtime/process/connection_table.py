"""Open connections of a server, with limits in all and per client; idle ones are displaced.

A connection that waits for its client costs the client nothing, so that a limit alone would let silent
connections shut everybody else out. Here a new connection displaces the oldest idle one, first of its own
client, then of the client that has most; only where all are at work is the new one refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable
from ipaddress import IPv6Address, ip_address
from typing import Final, Generic, NamedTuple, TypeVar

_CLIENT_PREFIX_BITS: Final = 64
"""An IPv6 client has at least so large a network, and can use any address in it."""
_ADDRESS_BITS: Final = 128

C = TypeVar("C", bound=Hashable)


class Admission(NamedTuple, Generic[C]):
    """Result of a new connection."""

    is_admitted: bool
    displaced: C | None = None
    """The connection that has to be closed for it."""


def client_of(address: str) -> str:
    """Return what counts as one client: an IPv4 address, or the /64 of an IPv6 address."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if not isinstance(parsed, IPv6Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    shift = _ADDRESS_BITS - _CLIENT_PREFIX_BITS
    return str(IPv6Address(int(parsed) >> shift << shift))


class ConnectionTable(Generic[C]):
    """The connections of one server, oldest first, each with its client."""

    def __init__(self, *, total: int, per_client: int, is_idle: Callable[[C], bool]) -> None:
        self._total = total
        self._per_client = per_client
        self._is_idle = is_idle
        self._clients: dict[C, str] = {}
        self._counts: Counter[str] = Counter()

    def __len__(self) -> int:
        """Return how many are open."""
        return len(self._clients)

    def admit(self, client: str, connection: C) -> Admission[C]:
        """Enter a new connection, in place of an idle one where a limit is reached."""
        displaced = None
        if self._counts[client] >= self._per_client:
            displaced = self._oldest_idle(client)
        elif len(self._clients) >= self._total:
            displaced = self._oldest_idle_of_largest()
        else:
            self._enter(client, connection)
            return Admission(is_admitted=True)
        if displaced is None:
            return Admission(is_admitted=False)
        self.remove(displaced)
        self._enter(client, connection)
        return Admission(is_admitted=True, displaced=displaced)

    def remove(self, connection: C) -> None:
        """Remove a closed connection; one that was removed before is ignored."""
        client = self._clients.pop(connection, None)
        if client is None:
            return
        self._counts[client] -= 1
        if not self._counts[client]:
            del self._counts[client]

    def _enter(self, client: str, connection: C) -> None:
        self._clients[connection] = client
        self._counts[client] += 1

    def _oldest_idle(self, client: str) -> C | None:
        return next(
            (each for each, owner in self._clients.items() if owner == client and self._is_idle(each)), None
        )

    def _oldest_idle_of_largest(self) -> C | None:
        for client, _count in self._counts.most_common():
            if (found := self._oldest_idle(client)) is not None:
                return found
        return None
