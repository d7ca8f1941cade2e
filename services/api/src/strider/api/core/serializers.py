"""Rows of the database as JSON for clients."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from strider.storage.rows.pages import PAGE_COLUMNS

_JSON: Final = frozenset(column.name for column in PAGE_COLUMNS if column.json)


def page_view(row: Mapping[str, Any]) -> dict[str, Any]:
    """Serialize a page; JSON columns become values."""
    return {name: json.loads(value) if name in _JSON else value for name, value in row.items()}


def decision_view(row: Mapping[str, Any]) -> dict[str, Any]:
    """Serialize a decision; an unused depth becomes null."""
    view = dict(row)
    view["depth"] = None if view["depth"] < 0 else view["depth"]
    view["status_code"] = view["status_code"] or None
    return view
