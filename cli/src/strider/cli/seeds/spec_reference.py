"""Reference of the fields of crawl specs, for commands and pages.

Derived from the schema and from the declarations that the code obeys. Pure.
"""

from __future__ import annotations

import json
from dataclasses import MISSING, asdict, dataclass, fields
from typing import Any, Final

from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.events import CrawlSpecDeclared
from strider.contracts.generated.topics import CRAWL_SPECS
from strider.contracts.seed_limits import SPEC_RANGES
from strider.contracts.specs.fields import FIELD_READERS, PLANNED_FIELDS
from strider.contracts.specs.settings import text_form
from strider.link_ingestion.core.raw_seeds import raw_rule

_KINDS: Final = {
    "string": "text",
    "boolean": "true, false",
    "array": "list",
    "map": "object of texts",
}


@dataclass(frozen=True, slots=True)
class FieldReference:
    """One field of crawl specs."""

    name: str
    default: str
    """As JSON."""
    allowed: str
    raw: str
    """The rule for raw seeds."""
    readers: str
    meaning: str

    def to_json(self) -> dict[str, Any]:
        """Return the field for JSON output, with the default as a value."""
        return {**asdict(self), "default": json.loads(self.default)}


def field_references() -> list[FieldReference]:
    """Return all fields that can be set, in the order of the schema."""
    store = SchemaStore.bundled()
    schema = json.loads(store.definition(CRAWL_SPECS.schema_name))
    described = {field["name"]: field for field in schema["fields"]}
    return [
        FieldReference(
            field.name,
            json.dumps(_default(field)),
            _allowed(described[field.name], store),
            raw_rule(field.name),
            _readers(field.name),
            _meaning(field.name, described[field.name]["doc"]),
        )
        for field in fields(CrawlSpecDeclared)
        if field.name in FIELD_READERS or field.name in PLANNED_FIELDS
    ]


def reference_table() -> str:
    """Return the fields as a table of Markdown."""
    lines = ["| field | default | allowed | raw seeds | read by | meaning |", "|---|---|---|---|---|---|"]
    for each in field_references():
        cells = (f"`{each.name}`", f"`{each.default}`", each.allowed, each.raw, each.readers, each.meaning)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _default(field: Any) -> Any:
    value = field.default if field.default_factory is MISSING else field.default_factory()
    return list(value) if isinstance(value, tuple) else value


def _allowed(described: dict[str, Any], store: SchemaStore) -> str:
    name = described["name"]
    if name in PLANNED_FIELDS:
        return ", ".join(json.dumps(value) for value in PLANNED_FIELDS[name].without_effect)
    if words := described.get("words"):
        return ", ".join(sorted(store.value_lists[words]))
    if name in SPEC_RANGES:
        least, most = SPEC_RANGES[name]
        return f"{least:,} to {most:,}"
    kind = described["type"]
    if form := text_form(name):
        return f"list: {form}" if isinstance(kind, dict) else form
    return _KINDS[kind["type"] if isinstance(kind, dict) else kind]


def _readers(name: str) -> str:
    return ", ".join(FIELD_READERS[name]) if name in FIELD_READERS else "none yet"


def _meaning(name: str, sentence: str) -> str:
    planned = PLANNED_FIELDS.get(name)
    if planned is None:
        return sentence
    return f"{sentence} {planned.statement[0].upper()}{planned.statement[1:]}."
