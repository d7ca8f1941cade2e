"""Documents of sources in requests and responses, and the conditions of requests."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from strider.contracts.generated.events import SourceSaved
from strider.crawl.sources.documents import document_of, warnings_about

from .filters import InvalidCursorError, ListCursor, read_cursor, write_cursor
from .seeds import InvalidBodyError

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
ANY_VERSION: Final = "*"
_TAG: Final = re.compile(r'"(\d{1,18})"')


def read_object(body: bytes) -> dict[str, Any]:
    """Parse a body that is one JSON object, each name once."""
    try:
        value = json.loads(body, object_pairs_hook=_unique, parse_constant=_refuse_constant)
    except InvalidBodyError:
        raise
    except (ValueError, RecursionError) as failure:
        raise InvalidBodyError(f"the body is not JSON: {failure}") from failure
    if not isinstance(value, dict):
        raise InvalidBodyError("the body must be one JSON object")
    return value


def source_view(source: SourceSaved) -> dict[str, Any]:
    """Return a source as responses have it."""
    return {
        "id": source.source_id,
        **document_of(source),
        "version": source.version,
        "created_at": _iso_time(source.created_at_ms),
        "updated_at": _iso_time(source.updated_at_ms),
        "updated_by": source.updated_by,
        "warnings": warnings_about(source),
    }


def source_list(sources: Sequence[SourceSaved], limit: int) -> dict[str, Any]:
    """Return a page of a list, with the cursor of the next one where the page is full."""
    last = sources[-1] if len(sources) == limit else None
    cursor = None
    if last is not None:
        cursor = write_cursor(ListCursor(_time(last.created_at_ms), last.source_id))
    return {"items": [source_view(source) for source in sources], "next": cursor}


def source_position(cursor: str | None) -> tuple[int, str] | None:
    """Return the time and the id of the last source of the page before."""
    if cursor is None:
        return None
    found = read_cursor(cursor)
    if found.more:
        raise InvalidCursorError("it is the cursor of another list")
    return (found.at - _EPOCH) // timedelta(milliseconds=1), found.key


def entity_tag(version: int) -> str:
    """Return the ETag of a version."""
    return f'"{version}"'


def allowed_versions(condition: str | None) -> frozenset[int] | None:
    """Return the versions that an If-Match header allows to change; None for any."""
    if condition is None:
        return None
    tags = [tag.strip() for tag in condition.split(",")]
    if ANY_VERSION in tags:
        return None
    return frozenset(int(found[1]) for tag in tags if (found := _TAG.fullmatch(tag)))


def sync_view(steps: Iterable[Any], *, is_dry_run: bool) -> dict[str, Any]:
    """Return the steps of a synchronisation."""
    shown = []
    counts: dict[str, int] = {}
    for step in steps:
        fields = asdict(step)
        fields.pop("change", None)
        shown.append({name: str(value) for name, value in fields.items()})
        counts[str(step.action)] = counts.get(str(step.action), 0) + 1
    return {"dry_run": is_dry_run, "counts": counts, "steps": shown}


def _time(milliseconds: int) -> datetime:
    return _EPOCH + timedelta(milliseconds=milliseconds)


def _iso_time(milliseconds: int) -> str:
    return _time(milliseconds).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) != len(pairs):
        names = [name for name, _ in pairs]
        repeated = next(name for name in names if names.count(name) > 1)
        raise InvalidBodyError(f"{repeated[:60]}: it is given more than once")
    return document


def _refuse_constant(name: str) -> Any:
    raise InvalidBodyError(f"the body is not JSON: {name} is no number of JSON")
