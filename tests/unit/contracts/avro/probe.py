"""A small event with every Avro type, and topics that carry it, for the codec's tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from strider.contracts import Topic
from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore

PROBE: dict[str, Any] = {
    "type": "record",
    "name": "Probe",
    "namespace": "strider.test",
    "fields": [
        {"name": "text", "type": "string"},
        {"name": "count", "type": "long", "default": 0},
        {"name": "ratio", "type": "double", "default": 0.0},
        {"name": "flag", "type": "boolean", "default": False},
        {"name": "word", "type": "string", "default": "", "words": "colour"},
        {"name": "note", "type": ["null", "string"], "default": None},
        {"name": "body", "type": "bytes", "default": ""},
        {"name": "urls", "type": {"type": "array", "items": "string"}, "default": []},
        {"name": "words", "type": {"type": "array", "items": "string"}, "default": [], "words": "colour"},
        {"name": "sizes", "type": {"type": "map", "values": "double"}, "default": {}},
        {
            "name": "parts",
            "type": {
                "type": "array",
                "items": {
                    "type": "record",
                    "name": "Piece",
                    "fields": [
                        {"name": "name", "type": "string"},
                        {"name": "score", "type": ["null", "double"], "default": None},
                    ],
                },
            },
            "default": [],
        },
    ],
}

WORDS = {"colour": frozenset({"red", "green", "blue"})}


@dataclass(frozen=True, slots=True)
class Probe:
    """The event class as the generator would write it."""

    SCHEMA_NAME: ClassVar[str] = "probe.v1"
    text: str = "a text"
    count: int = 0
    ratio: float = 0.0
    flag: bool = False
    word: str = ""
    note: str | None = None
    body: bytes = b""
    urls: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    sizes: Mapping[str, float] = ()  # type: ignore[assignment]  # replaced by `a_probe`
    parts: tuple[Mapping[str, Any], ...] = ()

    def to_record(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "SCHEMA_NAME"}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        lists = {name: tuple(record[name]) for name in ("urls", "words", "parts")}
        return cls(**{**record, **lists})


def a_probe(**fields: Any) -> Probe:
    """Return a probe with these fields and defaults in the others."""
    return replace(Probe(sizes={}), **fields)


FULL = a_probe(
    text="täxt 🕷",
    count=-(1 << 40),
    ratio=0.25,
    flag=True,
    word="red",
    note="a note",
    body=b"\x00\xff",
    urls=("https://example.org/", ""),
    words=("green", "blue"),
    sizes={"a": 1.5},
    parts=({"name": "first", "score": 0.5}, {"name": "second", "score": None}),
)


def a_topic(**changes: Any) -> Topic[Any]:
    """Return a topic of probes."""
    return replace(
        Topic(
            name="probes",
            value=Probe,
            schema_name=Probe.SCHEMA_NAME,
            description="Probes.",
            partitioner="key",
            cleanup="delete",
            writers=("tester",),
            readers=("tester",),
            max_bytes=512 * 1024,
        ),
        **changes,
    )


PROBES = a_topic()


def a_schema_store() -> SchemaStore:
    """Return a schema store that contains the probe."""
    return SchemaStore({"probe.v1": PROBE}, value_lists=WORDS)


def a_codec() -> Codec:
    """Return a codec with its own schema store."""
    return Codec(a_schema_store())


def probe_schema(**fields: Any) -> dict[str, Any]:
    """Return the probe's schema with fields added, replaced, or (None) left out."""
    kept = {field["name"]: field for field in PROBE["fields"]} | fields
    return PROBE | {"fields": [{"name": name, **field} for name, field in kept.items() if field is not None]}
