"""JSON Merge Patch (RFC 7396). Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

MERGE_PATCH_TYPE: Final = "application/merge-patch+json"


def merge_patch(target: Any, patch: Any) -> Any:
    """Return a value with a patch applied: members are set, those that are null removed, objects merged."""
    if not isinstance(patch, Mapping):
        return patch
    merged = dict(target) if isinstance(target, Mapping) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = merge_patch(merged.get(name), value)
    return merged
