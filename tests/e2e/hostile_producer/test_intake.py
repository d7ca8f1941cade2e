"""Seeds that no client library would send: they cost their sender a dead letter, and other seeds nothing."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import Producer

from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.events import SeedSubmitted
from strider.contracts.generated.topics import SEEDS_SUBMITTED
from tests.e2e.pipeline import SHARDS
from tests.processes.waiting import until

from .attackers import PAGE, attacker_site, robots_allowing
from .neighbours import Stage

pytestmark = pytest.mark.timeout(600)

FLOOD = 130
"""More than the dead-letter breaker takes in a row."""
SCHEMAS = 300
RECORDS = 20_000


def avro_seed(url: str) -> bytes:
    """Return a seed in Avro with a word that is in no list."""
    value = Codec(SchemaStore.bundled()).encode(SEEDS_SUBMITTED, SeedSubmitted(url=url, scope="domain")).value
    return value.replace(b"domain", b"bogus!")


def send_malformed_seeds(kafka: str) -> None:
    """Send words and headers that fail after decoding, invented schemas, and records of one byte."""
    batching = {"compression.type": "gzip", "linger.ms": 200, "batch.num.messages": RECORDS}
    client = Producer({"bootstrap.servers": kafka, **batching})

    def send(value: bytes, *headers: tuple[str, Any]) -> None:
        client.produce("seeds-submitted", value=value, headers=list(headers))
        client.poll(0)

    for number in range(FLOOD):
        send(avro_seed("http://127.0.0.1:9/words"))
        send(b"\x00\x00\x00\x00\x07junk", ("schema-fp", None))
        send(b"{}", ("__value_schema_id", None), ("entry", None))
        send(b'{"url": "http://127.0.0.1:9/replayed"}', ("replay-id", str(number)))
    for number in range(SCHEMAS):
        send(b"\xc3\x01" + number.to_bytes(8) + b"event")
    for number in range(RECORDS):
        client.produce("seeds-submitted", value=b"x", partition=number % SHARDS)
        client.poll(0)
    assert client.flush(60) == 0


@pytest.mark.fault("F22", part="seeds of a stranger, on the running pipeline")
async def test_seeds_of_any_form_stop_no_others(stage: Stage) -> None:
    with attacker_site(lambda path: robots_allowing(path) or PAGE) as honest:
        async with stage.unharmed_neighbours("F22 intake"):
            send_malformed_seeds(stage.ring.servers.kafka.address)
            stage.send({"url": f"{honest.origin}/honest"})
            await until(
                lambda: any(path == "/honest" for path, _ in honest.requests),
                what="the honest seed behind them is crawled",
                tell=stage.ring.tell,
                seconds=60,
            )
            await stage.until_refused("http://127.0.0.1:9/words", field="scope")
            await stage.until_refused("http://127.0.0.1:9/replayed", field="replay-id")
