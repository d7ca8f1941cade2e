"""The bus within one process: partitions, order, groups and at-least-once, no server."""

from .broker import InProcessBroker
from .bus import InProcessBus
from .consumer import InProcessConsumer, InProcessReader
from .producer import InProcessProducer, InProcessShardWriter
from .snapshots import BrokerSnapshot, SnapshotError, SnapshotFile, SnapshotTaker
from .virtual_clock import DeadlockError, EventLoopClock, VirtualTimeLoop, simulate

__all__ = [
    "BrokerSnapshot",
    "DeadlockError",
    "EventLoopClock",
    "InProcessBroker",
    "InProcessBus",
    "InProcessConsumer",
    "InProcessProducer",
    "InProcessReader",
    "InProcessShardWriter",
    "SnapshotError",
    "SnapshotFile",
    "SnapshotTaker",
    "VirtualTimeLoop",
    "simulate",
]
