"""The bus within one process: partitions, keys, order, groups and at-least-once, without a server."""

from .broker import Broker
from .bus import InProcessBus
from .consumer import InProcessConsumer, InProcessReader
from .cuts import BadCut, Cut, CutFile, CutTaker
from .producer import InProcessProducer, InProcessShardWriter
from .virtualtime import DeadlockError, LoopClock, VirtualTimeLoop, simulate

__all__ = [
    "BadCut",
    "Broker",
    "Cut",
    "CutFile",
    "CutTaker",
    "DeadlockError",
    "InProcessBus",
    "InProcessConsumer",
    "InProcessProducer",
    "InProcessReader",
    "InProcessShardWriter",
    "LoopClock",
    "VirtualTimeLoop",
    "simulate",
]
