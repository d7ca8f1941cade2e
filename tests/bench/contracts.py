"""What an event costs: codec against fastavro, events against other classes, the splice, the shard of a host.

Where msgspec is installed, which is no dependency, its structures are measured too.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, field, fields, make_dataclass, replace
from importlib import import_module
from importlib.util import find_spec
from io import BytesIO
from typing import Any

import attrs
import fastavro
import orjson

from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.avro.splice import Splicer
from strider.contracts.fast_dataclass import replace_fields
from strider.contracts.generated.events import EntryRecorded, PageParsed, PageValidated, Verdict
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
    schema = fastavro.parse_schema(orjson.loads(book.definition(PAGES_PARSED.schema_name)))
    record = page.to_record()

    def write() -> bytes:
        out = BytesIO()
        fastavro.schemaless_writer(out, schema, record)
        return out.getvalue()

    value = write()
    return write, value, lambda: fastavro.schemaless_reader(BytesIO(value), schema, None)


def _default(declared: Field[Any]) -> dict[str, Any]:
    if declared.default is not MISSING:
        return {"default": declared.default}
    return {} if declared.default_factory is MISSING else {"default_factory": declared.default_factory}


def _rivals(declared: tuple[Field[Any], ...]) -> Mapping[str, tuple[type[Any], Callable[..., Any]]]:
    """The same frozen, slotted class by other makers, each with its function that copies with changes."""
    standard = make_dataclass(
        "Standard", [(each.name, Any, field(**_default(each))) for each in declared], frozen=True, slots=True
    )
    by_attrs = attrs.make_class(
        "ByAttrs",
        {
            each.name: attrs.field(
                **{("factory" if name == "default_factory" else name): value for name, value in found.items()}
            )
            for each in declared
            for found in (_default(each),)
        },
        frozen=True,
        slots=True,
    )
    rivals: dict[str, tuple[type[Any], Callable[..., Any]]] = {
        "dataclass": (standard, replace),
        "attrs": (by_attrs, attrs.evolve),
    }
    if find_spec("msgspec"):
        msgspec = import_module("msgspec")
        struct = msgspec.defstruct(
            "Struct", [(each.name, Any, msgspec.field(**_default(each))) for each in declared], frozen=True
        )
        rivals["msgspec"] = (struct, msgspec.structs.replace)
    return rivals


def _event_classes(*, rounds: int) -> list[Row]:
    """Creating and copying the event with the most fields."""
    declared = fields(EntryRecorded)
    values = tuple(range(len(declared)))
    classes = {"fast_dataclass": (EntryRecorded, replace_fields), **_rivals(declared)}
    parts: dict[str, Callable[[], object]] = {}
    for name, (kind, copy) in classes.items():
        made = kind(*values)
        parts[f"create {name}"] = lambda kind=kind: kind(*values)  # type: ignore[misc]
        parts[f"copy {name}"] = lambda copy=copy, made=made: copy(made, state=1, tries=2)  # type: ignore[misc]
    found = interleaved(parts, rounds=rounds, times=2_000)
    return [
        Row(
            f"event of {len(declared)} fields: {what} by fast_dataclass, against a frozen, slotted one",
            found[f"{what} fast_dataclass"].median / found[f"{what} dataclass"].median,
            "×",
            0.5,
            detail=", ".join(f"{name} {found[f'{what} {name}'].median * 1e6:.2f} µs" for name in classes),
        )
        for what in ("create", "copy")
    ]


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
            "records": lambda: PageParsed.from_record(page.to_record()),
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
    typed = bare + found["records"].median * 1e6
    return [
        *_event_classes(rounds=rounds),
        Row(
            "page event, encode and decode, through codec, framing and typed class, against bare fastavro",
            ours / bare,
            "×",
            1.5,
            detail=f"{ours:.0f} µs against {bare:.0f} µs; {typed:.0f} µs with typed classes",
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
