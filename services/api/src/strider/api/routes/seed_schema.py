"""A seed as JSON Schema, derived from the generated event class."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any, Final, get_args, get_type_hints

from strider.contracts.generated.events import SeedSubmitted

_KINDS: Final = {str: "string", int: "integer", float: "number", bool: "boolean"}


def seed_schema() -> dict[str, Any]:
    """Return the schema of one seed."""
    hints = get_type_hints(SeedSubmitted)
    required = [
        field.name
        for field in fields(SeedSubmitted)
        if field.default is MISSING and field.default_factory is MISSING
    ]
    return {
        "title": "Seed",
        "description": (SeedSubmitted.__doc__ or "").replace("\n    ", " "),
        "type": "object",
        "required": required,
        "additionalProperties": False,
        "properties": {field.name: _described(hints[field.name]) for field in fields(SeedSubmitted)},
    }


def _described(hint: Any) -> dict[str, Any]:
    if (kind := _KINDS.get(hint)) is not None:
        return {"type": kind}
    inner = [part for part in get_args(hint) if part not in {type(None), Ellipsis}]
    if type(None) in get_args(hint):
        return {"anyOf": [_described(inner[0]), {"type": "null"}]}
    if len(inner) > 1:
        return {"type": "object", "additionalProperties": _described(inner[-1])}
    return {"type": "array", "items": _described(inner[0])}
