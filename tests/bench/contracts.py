"""What an event costs: the codec against bare fastavro, the splice, the shard of a host."""

from __future__ import annotations

import random
from io import BytesIO

import fastavro
import orjson

from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.avro.splice import Splicer
from strider.contracts.generated.events import PageParsed, PageValidated, Verdict
from strider.contracts.generated.topics import PAGES_PARSED, PAGES_VALIDATED
from strider.contracts.partitioning import shard_of_host
from strider.validator.topology import DECODED_FIELDS

from .measure import Row, interleaved

TEXT_BYTES = 24_000
LINKS = 80


def a_page() -> PageParsed:
    """The page event of the design's budget: 24 KB of text and 80 links."""
    chance = random.Random(3)
    words = [
        bytes(chance.choices(b"abcdefghijklmnopqrstuvwxyz", k=chance.randint(2, 11))).decode()
        for _ in range(900)
    ]
    text = " ".join(chance.choices(words, k=TEXT_BYTES // 7))[:TEXT_BYTES].ljust(TEXT_BYTES, "x")
    paths = [
        f"https://www.example.org/{chance.choice(words)}/{chance.choice(words)}-{number}"
        for number in range(LINKS)
    ]
    return PageParsed(
        url="https://www.example.org/articles/2026/streams",
        url_key="c0ffee" * 10 + "abcd",
        origin="https://www.example.org",
        group="www.example.org",
        job_id="bench",
        execution_id="bench-1",
        crawl_spec_id="0" * 32,
        fetch_sequence=1,
        outcome="parsed",
        parser="strider",
        parser_version="1",
        fetched_at_ms=1_790_000_000_000,
        title="Streams",
        text=text,
        link_urls=tuple(paths),
        link_anchors=tuple(chance.choices(words, k=LINKS)),
        link_rels=tuple([0] * LINKS),
        link_regions=tuple([0] * LINKS),
        links_found=LINKS,
    )


def _bare(book: SchemaStore, page: PageParsed) -> tuple[object, bytes, object]:
    """Writer, bytes and reader of fastavro alone, on the same record and schema."""
    schema = fastavro.parse_schema(orjson.loads(book.definition("page-parsed.v1")))
    record = page.to_record()

    def write() -> bytes:
        out = BytesIO()
        fastavro.schemaless_writer(out, schema, record)
        return out.getvalue()

    value = write()
    return write, value, lambda: fastavro.schemaless_reader(BytesIO(value), schema, None)


def measure(*, rounds: int) -> list[Row]:
    """All rows of this file."""
    book = SchemaStore.bundled()
    codec, page = Codec(book), a_page()
    encoded = codec.encode(PAGES_PARSED, page)
    write, _, read = _bare(book, page)
    splicer: Splicer[PageParsed, PageValidated] = Splicer(codec, part=PAGES_PARSED, whole=PAGES_VALIDATED)
    verdict = Verdict(validation_status="valid", rules_version="1", validated_at_ms=1_790_000_000_000)
    hosts = [f"www.site{number}.example.co.uk" for number in range(1000)]
    found = interleaved(
        {
            "bare write": write,
            "bare read": read,
            "encode": lambda: codec.encode(PAGES_PARSED, page),
            "decode": lambda: codec.decode(PAGES_PARSED, encoded.value, encoded.headers),
            "in part": lambda: codec.decode(
                PAGES_PARSED, encoded.value, encoded.headers, only=DECODED_FIELDS
            ),
            "splice": lambda: splicer.splice(encoded.value, encoded.headers, verdict=verdict),
            "shards": lambda: [shard_of_host(host, 96) for host in hosts],
        },
        rounds=rounds,
        times=300,
    )
    ours = (found["encode"].median + found["decode"].median) * 1e6
    bare = (found["bare write"].median + found["bare read"].median) * 1e6
    return [
        Row(
            "page event, encode and decode, through codec, framing and typed class, against bare fastavro",
            ours / bare,
            "×",
            1.5,
            detail=f"{ours:.0f} µs against {bare:.0f} µs",
        ),
        Row(
            "page event, decoded as far as the validator looks at it, against bare fastavro",
            found["in part"].median / found["bare read"].median,
            "×",
            None,
            detail=f"{found['in part'].median * 1e6:.0f} µs, and {found['decode'].median * 1e6:.0f} µs whole",
        ),
        Row("splice of a validated page", found["splice"].median * 1e6, "µs", 10.0),
        Row("shard of a known host", found["shards"].median * 1e3, "µs", None),
    ]
