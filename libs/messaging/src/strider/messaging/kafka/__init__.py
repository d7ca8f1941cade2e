"""The bus on a real broker, by aiokafka: one of the two families behind the ports."""

from .assignor import ShardAssignor
from .bus import KafkaBus
from .connection import KafkaConnection
from .consumer import KafkaConsumer
from .patches.internals import PartitionProgress
from .producer import KafkaProducer
from .shard_writer import KafkaShardWriter

__all__ = [
    "KafkaBus",
    "KafkaConnection",
    "KafkaConsumer",
    "KafkaProducer",
    "KafkaShardWriter",
    "PartitionProgress",
    "ShardAssignor",
]
