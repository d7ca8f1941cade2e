"""The bus on a real broker, by aiokafka: one of the two families behind the ports."""

from .bus import KafkaBus
from .connection import KafkaConnection
from .consumer import KafkaConsumer
from .shard_writer import KafkaShardWriter

__all__ = [
    "KafkaBus",
    "KafkaConnection",
    "KafkaConsumer",
    "KafkaShardWriter",
]
