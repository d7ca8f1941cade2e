"""Records, of which these tests need only the place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from strider.messaging.ports import Header


@dataclass(frozen=True, slots=True)
class ARecord:
    """A message as it was read."""

    topic: str = "echoes"
    partition: int = 0
    offset: int = 0
    timestamp: int = 0
    key: bytes | None = None
    value: bytes | None = None
    headers: Sequence[Header] = ()
