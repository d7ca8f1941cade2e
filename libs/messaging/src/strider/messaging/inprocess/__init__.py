"""The bus within one process: partitions, order, groups and at-least-once, no server."""

from .broker import InProcessBroker
from .bus import InProcessBus
from .consumer import InProcessConsumer
from .producer import InProcessProducer
from .snapshots import ForeignFile, SnapshotError, SnapshotFile, SnapshotTaker
from .virtual_clock import DeadlockError, EventLoopClock, simulate

__all__ = [
    "DeadlockError",
    "EventLoopClock",
    "ForeignFile",
    "InProcessBroker",
    "InProcessBus",
    "InProcessConsumer",
    "InProcessProducer",
    "SnapshotError",
    "SnapshotFile",
    "SnapshotTaker",
    "simulate",
]
