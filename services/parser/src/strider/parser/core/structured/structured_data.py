"""Collect the structured data of a page: JSON-LD, microdata, RDFa, Open Graph.

Returns one array by format, with types and errors. The meaning of an item is decided elsewhere.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from .json_repair import repair_json
from .rdfa import root_nodes

JSON_LD: Final = "json-ld"
MICRODATA: Final = "microdata"
RDFA: Final = "rdfa"
OPEN_GRAPH: Final = "opengraph"
MAX_BYTES: Final = 192 * 1024
MAX_TYPES: Final = 50
MAX_DEPTH: Final = 24
MAX_ERRORS: Final = 10


_KEYWORD_ALIASES: Final = {"type": "@type", "id": "@id"}
"""Aliases that the context of schema.org defines."""


@dataclass(frozen=True, slots=True)
class StructuredData:
    """Structured data of a page by format."""

    json_ld: Sequence[Any] = ()
    microdata: Sequence[dict[str, Any]] = ()
    rdfa: Sequence[dict[str, Any]] = ()
    open_graph: dict[str, str | list[str]] | None = None
    errors: Sequence[str] = ()

    def to_event_fields(self) -> dict[str, Any]:
        """Return the event fields; formats that exceed the size limit are omitted, with an error."""
        found = (
            (JSON_LD, self.json_ld),
            (MICRODATA, self.microdata),
            (RDFA, self.rdfa),
            (OPEN_GRAPH, self.open_graph),
        )
        kept: list[str] = []
        errors, formats, remaining = list(self.errors), [], MAX_BYTES
        for name, items in found:
            if not items:
                continue
            formats.append(name)
            key = "properties" if name == OPEN_GRAPH else "items"
            text = json.dumps({"format": name, key: items}, ensure_ascii=False)
            remaining -= len(text)
            if remaining < 0:
                errors.append(f"{name}: too long to travel")
            else:
                kept.append(text)
        return {
            "structured_json": f"[{','.join(kept)}]" if kept else "",
            "structured_formats": tuple(formats),
            "structured_types": tuple(dict.fromkeys(self._types()))[:MAX_TYPES],
            "structured_errors": tuple(errors[:MAX_ERRORS]),
        }

    def typed_nodes(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield every object that has a type in JSON-LD shape, with its format."""
        for item in self.json_ld:
            names = _KEYWORD_ALIASES if "@type" not in item and "@context" in item and "type" in item else {}
            for node in _find_typed(_strip_prefixes(item, 0, _vocabulary_prefixes(item), names), 0):
                yield JSON_LD, node
        for item in self.microdata:
            for node in _find_typed(microdata_to_node(item, 0), 0):
                yield MICRODATA, node
        for item in root_nodes(self.rdfa):
            for node in _find_typed(item, 0):
                yield RDFA, node

    def _types(self) -> Iterator[str]:
        for _, node in self.typed_nodes():
            yield from types_of(node)


def read_json_ld(texts: Sequence[str]) -> tuple[list[Any], list[str]]:
    """Parse JSON-LD scripts; return their values, and the errors."""
    found: list[Any] = []
    errors: list[str] = []
    for text in texts:
        text = text.strip("\ufeff \t\r\n")  # noqa: PLW2901  # a mark is no JSON, and no fault of it
        if not text:
            continue
        try:
            values = [json.loads(text, strict=False)]
        except RecursionError:
            errors.append("json-ld: nested too deep")
            continue
        except ValueError as failure:
            values = repair_json(text)
            errors.append(f"json-ld: {failure}"[:200] + ("; repaired" if values else ""))
        for decoded in values:
            value = _decode_nested_json(decoded)
            items = value if isinstance(value, list) else [value]
            found.extend(item for item in items if isinstance(item, dict))
    return found, errors


def _decode_nested_json(value: Any) -> Any:
    """Decode a value that was serialized twice."""
    if isinstance(value, str) and value.lstrip()[:1] in {"{", "["}:
        try:
            return json.loads(value, strict=False)
        except (ValueError, RecursionError):
            return value
    return value


_SCHEMA_ORG_PREFIX: Final = re.compile(r"^(?:schema:|https?://schema\.org/)(?=\w+$)")
_SCHEMA_ORG_URL: Final = re.compile(r"https?://(?:www\.)?schema\.org/?#?")
_PREFIX: Final = re.compile(r"\w{1,20}")


MAX_CONTEXTS: Final = 50


def _vocabulary_prefixes(item: Any) -> re.Pattern[str]:
    """Return the pattern of schema.org prefixes, including those that the context declares."""
    contexts = item.get("@context") if isinstance(item, dict) else None
    several = contexts if isinstance(contexts, list) else [contexts]
    own = [
        prefix
        for one in several[:MAX_CONTEXTS]
        if isinstance(one, dict)
        for prefix, meant in list(one.items())[:MAX_CONTEXTS]
        if isinstance(meant, str) and _SCHEMA_ORG_URL.fullmatch(meant) and _PREFIX.fullmatch(prefix)
    ]
    return (
        re.compile(rf"^(?:{'|'.join(own)}):(?=\w+$)|{_SCHEMA_ORG_PREFIX.pattern}")
        if own
        else _SCHEMA_ORG_PREFIX
    )


def _strip_prefixes(value: Any, depth: int, prefixes: re.Pattern[str], names: Mapping[str, str]) -> Any:
    """Remove vocabulary prefixes from names, and replace keyword aliases."""
    if isinstance(value, dict) and depth <= MAX_DEPTH:
        return {
            names.get(name) or prefixes.sub("", name): _strip_prefixes(one, depth + 1, prefixes, names)
            for name, one in value.items()
        }
    if isinstance(value, list) and depth <= MAX_DEPTH:
        return [_strip_prefixes(one, depth + 1, prefixes, names) for one in value]
    return value


def types_of(node: dict[str, Any]) -> list[str]:
    """Return the types of an object without their vocabulary."""
    declared = node.get("@type")
    names = declared if isinstance(declared, list) else [declared]
    return [
        re.split(r"[/#:]", name.rstrip("/"))[-1][:100] for name in names[:5] if isinstance(name, str) and name
    ]


def microdata_to_node(item: dict[str, Any], depth: int) -> dict[str, Any]:
    """Convert a microdata item to JSON-LD shape."""
    node: dict[str, Any] = {"@type": item["type"].split()} if item.get("type") else {}
    for name, value in item["properties"].items():
        values = value if isinstance(value, list) else [value]
        kept = [microdata_to_node(one, depth + 1) if isinstance(one, dict) else one for one in values]
        node[name] = kept[0] if len(kept) == 1 else kept
    return node


def _find_typed(value: Any, depth: int) -> Iterator[dict[str, Any]]:
    if depth > MAX_DEPTH:
        return
    if isinstance(value, dict):
        if "@type" in value:
            yield value
        for within in value.values():
            if isinstance(within, dict | list):
                yield from _find_typed(within, depth + 1)
    elif isinstance(value, list):
        for within in value[:1_000]:
            yield from _find_typed(within, depth + 1)
