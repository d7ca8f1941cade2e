"""Convert RDFa subjects to the shape that JSON-LD has on pages.

Takes subjects in expanded form with unresolved references; resolves these and nests subjects where they are
referenced. Property names lose their vocabulary.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from strider.urls import RefusedUrl, to_wire_url

MAX_DEPTH: Final = 8
_SCHEME: Final = re.compile(r"(?:_|[A-Za-z][A-Za-z0-9+.-]*):")
_LOCAL_NAME: Final = re.compile(r"[^/#]+$")


def resolve_subjects(subjects: Sequence[dict[str, Any]], base: str) -> tuple[dict[str, Any], ...]:
    """Resolve the references of all subjects; the empty reference is the page."""
    return tuple(
        {name: _resolve_references(value, base) for name, value in subject.items()} for subject in subjects
    )


def root_nodes(subjects: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield every subject that has a type and is not contained in another one."""
    by_id = {subject["@id"]: subject for subject in subjects}
    within = {
        value["@id"]
        for subject in subjects
        for values in subject.values()
        if isinstance(values, list)
        for value in values
        if isinstance(value, dict) and value.get("@id", subject["@id"]) != subject["@id"]
    }
    for subject in subjects:
        if "@type" in subject and subject["@id"] not in within:
            yield _build_node(subject, by_id, 0)


def _build_node(subject: dict[str, Any], by_id: dict[str, dict[str, Any]], depth: int) -> dict[str, Any]:
    node: dict[str, Any] = {}
    for name, values in subject.items():
        if name == "@id":
            continue
        if name == "@type":
            node[name] = values
            continue
        node_values = [_node_value(value, by_id, depth) for value in values]
        local = _LOCAL_NAME.search(name)
        node.setdefault(local[0] if local else name, node_values[0] if len(node_values) == 1 else node_values)
    return node


def _node_value(value: dict[str, Any], by_id: dict[str, dict[str, Any]], depth: int) -> Any:
    if "@value" in value:
        return value["@value"]
    there = by_id.get(value["@id"])
    return value["@id"] if there is None or depth >= MAX_DEPTH else _build_node(there, by_id, depth + 1)


def _resolve_references(value: Any, base: str) -> Any:
    if isinstance(value, list):
        return [_resolve_references(one, base) for one in value]
    if isinstance(value, dict):
        return {**value, "@id": _resolve_reference(value["@id"], base)} if "@id" in value else value
    return _resolve_reference(value, base) if isinstance(value, str) else value


def _resolve_reference(text: str, base: str) -> str:
    if _SCHEME.match(text):
        return text
    path, separator, fragment = text.partition("#")
    found = to_wire_url(path, base) if path else base.partition("#")[0]
    return text if isinstance(found, RefusedUrl) else f"{found}{separator}{fragment}"
