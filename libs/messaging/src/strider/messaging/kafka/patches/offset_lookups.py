"""Requests for offsets on a connection of their own, beside the fetches.

A broker answers the requests of one connection one after the other, and holds a fetch that finds no record
for half a second. The library sends requests for the first and last offsets of partitions on the connection
of its fetches: so each of them waited until the fetch before it was over, wherever a log had nothing new.
Decides the connection alone.

Like `internals`, this holds for AIOKAFKA_VERSION.
"""

from __future__ import annotations

from typing import Any, Final

from aiokafka import client as library
from aiokafka.protocol.offset import OffsetRequest

LOOKUPS: Final = 1 + max(library.ConnectionGroup)
"""Number of the group of connections for these requests, beside those of the library."""

_patched: Any = library.AIOKafkaClient
_send: Final = _patched.send


def install_offset_lookups() -> None:
    """Have every client of this process send them so; a second call changes nothing."""
    _patched.send = _send_beside_fetches


async def _send_beside_fetches(
    client: Any, node_id: Any, request: Any, *, group: int = library.ConnectionGroup.DEFAULT
) -> Any:
    if isinstance(request, OffsetRequest):
        group = LOOKUPS
    return await _send(client, node_id, request, group=group)
