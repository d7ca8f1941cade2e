"""Join of fetches-completed with URL records: duration, type, length, redirect.

Decides which records wait for a response: those of URLs with a status, whose response was not consumed
yet, as topics keep no order among each other. Keeps a response only until the URL has its record.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from typing import Any, Final, NamedTuple

from strider.contracts.generated.enums import RequestKind
from strider.contracts.generated.events import FetchCompleted

from .results import UrlResult

_NAME: Final = "answers"
"""Key in the snapshot."""


class ResponseFacts(NamedTuple):
    """Fields of a response that a record contains."""

    duration_ms: float
    content_type: str
    length: int
    redirected_by: str
    """URL that redirected here; empty for a link."""


class ResponseJoin:
    """Responses without a record, and records without a response."""

    def __init__(self) -> None:
        self._responses: dict[str, ResponseFacts] = {}
        self._pending: dict[str, UrlResult] = {}

    def add_response(self, event: FetchCompleted, *, is_written: bool) -> UrlResult | None:
        """Add a response; returns the record that has waited for it."""
        if event.kind == RequestKind.ROBOTS:
            return None
        response = ResponseFacts(
            round(event.total_us / 1000, 1),
            event.content_type,
            event.body_bytes,
            event.redirect_chain[-1] if event.redirect_chain else "",
        )
        if result := self._pending.pop(event.url_key, None):
            return _with_response(result, response)
        if not is_written:
            self._responses[event.url_key] = response
        return None

    def complete(self, url_key: str, result: UrlResult) -> UrlResult | None:
        """Add the response to a record; None where the record has to wait for it."""
        response = self._responses.pop(url_key, None)
        if response is not None:
            return _with_response(result, response)
        if not result.status:
            return result
        self._pending[url_key] = result
        return None

    def forget(self, url_key: str) -> None:
        """Drop the response of a URL whose record needs none."""
        self._responses.pop(url_key, None)

    def drain(self) -> Iterator[UrlResult]:
        """Return the records that still wait, without a response."""
        pending, self._pending = self._pending, {}
        yield from pending.values()

    def snapshot(self) -> dict[str, str]:
        """Return the state as values of a snapshot."""
        pending = {key: asdict(result) for key, result in self._pending.items()}
        return {_NAME: json.dumps({"heard": self._responses, "late": pending})}

    def restore(self, kept: Mapping[str, str]) -> Iterator[str]:
        """Restore a snapshot; returns the keys of URLs whose records wait."""
        # A state file of an older version has no responses.
        values: dict[str, Any] = json.loads(kept.get(_NAME, "{}"))
        self._responses = {key: ResponseFacts(*parts) for key, parts in values.get("heard", {}).items()}
        pending = values.get("late", {}).items()
        self._pending = {
            key: UrlResult(**{**result, "links": tuple(result["links"])}) for key, result in pending
        }
        yield from self._pending


def _with_response(result: UrlResult, response: ResponseFacts) -> UrlResult:
    return replace(
        result,
        duration_ms=response.duration_ms,
        content_type=result.content_type or response.content_type,
        length=result.length or response.length,
        referrer=result.referrer or response.redirected_by,
    )
