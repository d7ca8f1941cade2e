"""Rows as callers see them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

_JSON: Final = ("redirect_chain", "warnings", "metadata")


def page_view(row: Mapping[str, Any]) -> dict[str, Any]:
    """Show a page; what the database keeps as JSON is given as what it says."""
    return {name: json.loads(value) if name in _JSON else value for name, value in row.items()}


def decision_view(row: Mapping[str, Any]) -> dict[str, Any]:
    """Show a decision; a depth that plays no part is none."""
    view = dict(row)
    view["depth"] = None if view["depth"] < 0 else view["depth"]
    view["status_code"] = view["status_code"] or None
    return view
