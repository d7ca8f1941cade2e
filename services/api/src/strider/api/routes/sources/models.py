"""Models of the responses about sources, made from the event that carries them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, get_origin, get_type_hints

from pydantic import BaseModel, create_model

from strider.api.routes import examples
from strider.api.routes.response_models import Moment, with_example
from strider.contracts.generated.events import SourceSaved
from strider.crawl.sources.documents import FIELDS, document_of

_HINTS: Final = get_type_hints(SourceSaved)
_ID: Final = "0c1c5c4e-6a0f-4be0-9a53-a43e0d1d0d52"
_SOURCE: Final = {
    "id": _ID,
    **document_of(
        SourceSaved(
            _ID,
            "Example",
            "https://example.org/",
            interval_minutes=360,
            delay_seconds=2.0,
            feed_poll_seconds=900,
        )
    ),
    "version": 1,
    "created_at": examples.MOMENT,
    "updated_at": examples.MOMENT,
    "updated_by": "ada",
    "warnings": [],
}


def _plain(hint: Any) -> Any:
    """Return the type of a field as JSON has it."""
    origin = get_origin(hint)
    if origin is tuple:
        return list[str]
    return dict[str, str] if origin is Mapping else hint


_FIELDS: Final[dict[str, Any]] = {
    "id": (str, ...),
    **{name: (_plain(_HINTS[name]), ...) for name in FIELDS},
    "version": (int, ...),
    "created_at": (Moment, ...),
    "updated_at": (Moment, ...),
    "updated_by": (str, ...),
    "warnings": (list[str], ...),
}

SourceDetail = create_model(
    "SourceDetail",
    __doc__="A source: a website to watch. `warnings` are about what is allowed, and seldom meant.",
    __config__=with_example(_SOURCE),
    **_FIELDS,
)

SourceList = create_model(
    "SourceList",
    __doc__="Sources, newest first.",
    __config__=with_example({"items": [_SOURCE], "next": examples.CURSOR}),
    items=(list[SourceDetail], ...),  # type: ignore[valid-type]  # a class, made above
    next=(str | None, ...),
)


class SyncStepModel(BaseModel):
    """One difference between sources and jobs, or between a source-manager and the sources here."""

    action: str
    source_id: str
    source: str
    job_id: str
    detail: str


class SyncReport(BaseModel):
    """Differences; they were applied, unless it was a dry run."""

    model_config = with_example(
        {
            "dry_run": True,
            "counts": {"create": 1},
            "steps": [
                {
                    "action": "create",
                    "source_id": _ID,
                    "source": "Example",
                    "job_id": f"source-{_ID}",
                    "detail": "every 360 minutes from https://example.org/",
                }
            ],
        }
    )
    dry_run: bool
    counts: dict[str, int]
    steps: list[SyncStepModel]
