"""Where a text can be found in all that a running pipeline has written, whatever wrote it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable

import asyncpg
from confluent_kafka.admin import AdminClient

from strider.messaging.errors import UnreadRange
from strider.messaging.kafka import KafkaBus, KafkaConnection
from strider.messaging.ports import TopicPartition
from strider.storage.redis import Redis, RedisOptions, connect
from tests.e2e.pipeline import Ring

READERS = {
    "string": ("GET",),
    "hash": ("HGETALL",),
    "list": ("LRANGE", 0, -1),
    "set": ("SMEMBERS",),
    "zset": ("ZRANGE", 0, -1, "WITHSCORES"),
    "stream": ("XRANGE", "-", "+"),
}
"""Command that reads a whole key, by its type; the key is the first argument."""


async def places_of(texts: Iterable[str], ring: Ring) -> dict[str, set[str]]:
    """Return the topics, tables, keys and files that have each of these texts."""
    wanted = {text: text.encode() for text in texts}
    found: dict[str, set[str]] = {text: set() for text in wanted}
    for part in (_topics, _tables, _keys, _files):
        async for place, content in part(ring):
            for text, needle in wanted.items():
                if needle in content:
                    found[text].add(place)
    return found


async def _topics(ring: Ring) -> AsyncIterator[tuple[str, bytes]]:
    """Read every committed message of every topic, the broker's own included.

    It runs before the attack that leaves transactions open, behind which it would see nothing.
    """
    address = ring.servers.kafka.address
    topics = AdminClient({"bootstrap.servers": address}).list_topics(timeout=30).topics
    places = [TopicPartition(name, part) for name, topic in topics.items() for part in topic.partitions]
    bus = KafkaBus(KafkaConnection((address,)))
    try:
        reader = await bus.reader(places)
        ends = await reader.end_offsets(places)
        while any([await reader.position(place) < ends[place] for place in places]):
            try:
                found = await reader.poll(max_records=500, timeout_seconds=0.5)
            except UnreadRange as unread:  # a batch of another attack, which no reader can parse
                reader.seek(TopicPartition(unread.topic, unread.partition), unread.resume_at)
                continue
            for place, records in found.items():
                for record in records:
                    parts = (record.key, record.value, *(content for _, content in record.headers))
                    yield f"topic {place.topic}", b"\n".join(part or b"" for part in parts)
    finally:
        await bus.close()


async def _tables(ring: Ring) -> AsyncIterator[tuple[str, bytes]]:
    """Read every row of every table; bytes as they are, not in hex."""
    connection = await asyncpg.connect(ring.servers.dsn)
    try:
        tables = await connection.fetch(
            "SELECT schemaname, tablename FROM pg_tables "
            "WHERE schemaname NOT IN ('pg_catalog', 'information_schema')"
        )
        for schema, table in tables:
            for row in await connection.fetch(f'SELECT * FROM "{schema}"."{table}"'):
                parts = (each if isinstance(each, bytes) else str(each).encode() for each in row.values())
                yield f"table {table}", b"\n".join(parts)
    finally:
        await connection.close()


async def _keys(ring: Ring) -> AsyncIterator[tuple[str, bytes]]:
    redis = connect(RedisOptions(ring.servers.redis.address))
    try:
        for key in await redis.command("KEYS", "*"):
            yield "redis", bytes(key) + b"\n" + await _content(redis, key)
    finally:
        await redis.close()


async def _content(redis: Redis, key: bytes) -> bytes:
    kind = await redis.command("TYPE", key)
    name = kind.decode() if isinstance(kind, bytes) else str(kind)
    if name == "none":  # expired since
        return b""
    command, *arguments = READERS[name]
    return _flat(await redis.command(command, key, *arguments))


def _flat(value: object) -> bytes:
    """Return all texts of a reply, however nested it is."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, dict):
        return b"\n".join(_flat(each) for pair in value.items() for each in pair)
    if isinstance(value, list | tuple | set):
        return b"\n".join(map(_flat, value))
    return str(value).encode()


async def _files(ring: Ring) -> AsyncIterator[tuple[str, bytes]]:
    """Read the logs of the services and the objects."""
    for path in sorted(ring.directory.rglob("*")):
        if path.is_file():
            yield f"file {path.relative_to(ring.directory).parts[0]}", path.read_bytes()
