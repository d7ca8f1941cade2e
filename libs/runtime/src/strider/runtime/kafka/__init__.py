"""The bus on a real broker, by aiokafka: one of the two families behind the ports."""

from .assignor import ShardAssignor
from .bus import KafkaBus
from .connection import KafkaConnection
from .consumer import KafkaConsumer
from .insides import Progress
from .producer import KafkaProducer
from .shards import KafkaShardWriter

__all__ = [
    "KafkaBus",
    "KafkaConnection",
    "KafkaConsumer",
    "KafkaProducer",
    "KafkaShardWriter",
    "Progress",
    "ShardAssignor",
]
