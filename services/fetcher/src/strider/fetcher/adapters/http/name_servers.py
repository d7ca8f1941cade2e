"""Name lookups at name servers, by c-ares: addresses with their TTL, or an error class.

No lookup has a thread of its own, so name servers that hang delay no other name; c-ares has one thread for
its sockets, whatever runs the event loop. Names are absolute: no search domain is appended. The hosts file of
the machine is read first. Decides nothing about addresses; `dns` caches and checks them.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

import pycares
from pycares import errno as cares

from strider.contracts.generated.enums import ErrorClass

MAX_ADDRESSES: Final = 8
"""Of one name; more addresses do not make a site easier to reach."""

LOOKUPS_PER_CHANNEL: Final = 5_000
"""After so many lookups a new channel is used: a channel caches each answer for its TTL, however many."""

TRIES: Final = 6
"""For each name server: the first wait may be as short as a quarter of a second, and doubles."""

_FLAGS: Final = (
    pycares.ARES_FLAG_EDNS | pycares.ARES_FLAG_NOALIASES  # c-ares' default; no aliases from the environment
)

_SITE_ERRORS: Final[Mapping[int, ErrorClass]] = {
    cares.ARES_ENOTFOUND: ErrorClass.DNS_NOT_FOUND,
    cares.ARES_EBADNAME: ErrorClass.DNS_NOT_FOUND,
    cares.ARES_ENODATA: ErrorClass.DNS_EMPTY,
    cares.ARES_ETIMEOUT: ErrorClass.DNS_TIMEOUT,
    **dict.fromkeys(
        (cares.ARES_ESERVFAIL, cares.ARES_EREFUSED, cares.ARES_EFORMERR, cares.ARES_ENOTIMP),
        ErrorClass.DNS_FAILED,
    ),
    cares.ARES_EBADRESP: ErrorClass.DNS_FAILED,
}
"""Errors that the servers of a name cause. All others are of this machine or its name servers: no name could
be looked up, so no host is at fault.
"""


@dataclass(frozen=True, slots=True)
class ResolvedName:
    """Addresses of a name, and how long they are valid."""

    addresses: tuple[str, ...]
    ttl_seconds: float


class NameLookupError(Exception):
    """A failed lookup."""

    def __init__(self, error_class: ErrorClass, message: str) -> None:
        super().__init__(f"{error_class}: {message}")
        self.error_class = error_class
        self.message = message


class NameLookup(Protocol):
    """Looks names up."""

    async def lookup(self, host: str, *, searches: bool = False, is_fresh: bool = False) -> ResolvedName:
        """Return the addresses of a name; raises NameLookupError.

        `searches` appends the machine's search domains; `is_fresh` uses no answer from before.
        """

    def close(self) -> None:
        """Cancel all lookups."""


@dataclass(slots=True, eq=False)
class _Channel:
    """A c-ares channel, and its lookups."""

    channel: pycares.Channel
    lookups: int = 0
    pending: int = 0
    is_retired: bool = False
    """Whether it is closed when its last lookup has ended."""


class NameServers:
    """Looks names up at the configured name servers, or at those of the machine."""

    def __init__(
        self,
        servers: Sequence[str] = (),
        *,
        timeout_seconds: float = 1.0,
        search_domains: Sequence[str] | None = None,
    ) -> None:
        """`servers` are addresses with or without a port; `timeout_seconds` is of the first try.

        `search_domains` replace those of the machine. Nothing is read or opened before the first lookup.
        """
        self._servers = list(servers)
        self._timeout_seconds = timeout_seconds
        self._search_domains = search_domains
        self._current: dict[bool, _Channel] = {}
        """By whether search domains are appended."""
        self._channels: set[_Channel] = set()

    async def lookup(self, host: str, *, searches: bool = False, is_fresh: bool = False) -> ResolvedName:
        """Return the addresses of a name; raises NameLookupError."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[tuple[Any, int | None]] = loop.create_future()
        used = self._channel_for(searches=searches, is_fresh=is_fresh)

        def on_answer(result: Any, status: int | None) -> None:
            # Called by the thread of c-ares, also after the event loop has ended.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(self._end_lookup, used, answer, (result, status))

        used.lookups += 1
        used.pending += 1
        used.channel.getaddrinfo(host, None, type=socket.SOCK_STREAM, callback=on_answer)
        result, status = await answer
        if status is not None:
            raise _lookup_error(status)
        return _resolved_name(result)

    def close(self) -> None:
        """Cancel all lookups."""
        for each in self._channels:
            each.channel.close()
        self._channels.clear()
        self._current.clear()

    def _channel_for(self, *, searches: bool, is_fresh: bool) -> _Channel:
        if is_fresh:
            return self._open_channel(searches=searches, is_retired=True)
        current = self._current.get(searches)
        if current is not None and current.lookups < LOOKUPS_PER_CHANNEL:
            return current
        if current is not None:
            self._retire(current)
        self._current[searches] = self._open_channel(searches=searches)
        return self._current[searches]

    def _open_channel(self, *, searches: bool, is_retired: bool = False) -> _Channel:
        # The files of the machine say where names are looked up; pycares 5 frees the texts of the options
        # `lookups` and `resolvconf_path` before c-ares reads them, so they must not be used.
        try:
            channel = pycares.Channel(
                flags=_FLAGS if searches else _FLAGS | pycares.ARES_FLAG_NOSEARCH,
                timeout=self._timeout_seconds,
                tries=TRIES,
                servers=self._servers or None,
                domains=self._search_domains,
            )
        except pycares.AresError as error:
            raise NameLookupError(ErrorClass.OFFLINE, f"names cannot be looked up: {error}") from error
        opened = _Channel(channel, is_retired=is_retired)
        self._channels.add(opened)
        return opened

    def _retire(self, channel: _Channel) -> None:
        channel.is_retired = True
        self._close_unused(channel)

    def _end_lookup(
        self, used: _Channel, answer: asyncio.Future[tuple[Any, int | None]], given: tuple[Any, int | None]
    ) -> None:
        used.pending -= 1
        self._close_unused(used)
        if not answer.done():
            answer.set_result(given)

    def _close_unused(self, channel: _Channel) -> None:
        if channel.is_retired and not channel.pending and channel in self._channels:
            self._channels.discard(channel)
            channel.channel.close()


def _lookup_error(status: int) -> NameLookupError:
    error_class = _SITE_ERRORS.get(status)
    said = cares.strerror(status)
    text = said.decode() if isinstance(said, bytes) else said
    if error_class is None:
        return NameLookupError(ErrorClass.OFFLINE, f"the name servers cannot be used: {text}")
    return NameLookupError(error_class, text)


def _resolved_name(result: Any) -> ResolvedName:
    """Return the first addresses, and the shortest TTL of all records; 0 for those of the hosts file."""
    addresses = dict.fromkeys(
        node.addr[0].decode() if isinstance(node.addr[0], bytes) else node.addr[0] for node in result.nodes
    )
    ttl_seconds = min((record.ttl for record in (*result.nodes, *result.cnames)), default=0)
    return ResolvedName(tuple(addresses)[:MAX_ADDRESSES], float(max(ttl_seconds, 0)))
