"""One service of the ring, as the ring runs it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from strider.contracts import Topic
from strider.runtime.consumer.spec import AsyncStep, ConsumerSpec


@dataclass(frozen=True, slots=True)
class Member:
    """One service: what it consumes, and what it must be given an end to."""

    name: str
    consumes: tuple[ConsumerSpec, ...]
    dead_letters: Topic[Any]
    background: tuple[AsyncStep, ...] = ()
    on_stop: tuple[Callable[[], None], ...] = ()
    close: tuple[Callable[[], Awaitable[None]], ...] = ()
