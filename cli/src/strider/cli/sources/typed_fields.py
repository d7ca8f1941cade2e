"""Fields of a source as they are typed: `--set max_depth=2 --set metadata.team=news`. Pure.

A value is that of the field's type: a text as it stands, the rest as JSON. A list takes a JSON array, or one
item for each option; a map takes a JSON object, or one entry for each `field.name=value`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final, get_origin, get_type_hints

from strider.cli.arguments import unknown_name
from strider.contracts.generated.events import SourceSaved
from strider.crawl.sources.documents import FIELDS

_TYPES: Final = {name: hint for name, hint in get_type_hints(SourceSaved).items() if name in FIELDS}

MAPS: Final = tuple(name for name, hint in _TYPES.items() if get_origin(hint) is Mapping)
LISTS: Final = tuple(name for name, hint in _TYPES.items() if get_origin(hint) is tuple)
TEXTS: Final = tuple(name for name, hint in _TYPES.items() if hint is str)

FIELDS_HELP: Final = f"Fields: {', '.join(FIELDS)}."


class FieldError(ValueError):
    """An option that sets no field of a source."""


def parse_settings(settings: Iterable[str], unset: Iterable[str] = ()) -> dict[str, Any]:
    """Return the document of options; None for fields that get their default. Raises FieldError."""
    document: dict[str, Any] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        field, _, entry = name.strip().partition(".")
        if not equals:
            raise FieldError(f"--set {setting!r}: expected FIELD=VALUE")
        _require_field(field)
        if entry:
            _add_entry(document, field, entry, text)
        elif field in LISTS:
            _add_items(document, field, text)
        else:
            document[field] = text if field in TEXTS else _json_or_text(text)
    for name in unset:
        _require_field(name)
        if name in document:
            raise FieldError(f"{name} is both set and unset")
        document[name] = None
    return document


def _require_field(name: str) -> None:
    if name not in FIELDS:
        raise FieldError(unknown_name("field", name, FIELDS))


def _add_entry(document: dict[str, Any], field: str, entry: str, text: str) -> None:
    if field not in MAPS:
        raise FieldError(f"{field} has no entries: write {field}=VALUE")
    entries = document.setdefault(field, {})
    if not isinstance(entries, dict):
        raise FieldError(f"{field} is set as a whole and by entry")
    entries[entry] = text


def _add_items(document: dict[str, Any], field: str, text: str) -> None:
    value = _json_or_text(text) if text.lstrip().startswith("[") else text
    items = document.setdefault(field, [])
    if isinstance(value, list):
        items += value
    elif text:
        items.append(text)


def _json_or_text(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
