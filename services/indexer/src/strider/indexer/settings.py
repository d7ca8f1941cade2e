"""Settings of the indexer."""

from __future__ import annotations

from typing import Annotated, ClassVar, Final

from pydantic import AfterValidator, Field

from strider.runtime.settings.base import ServiceSettings
from strider.runtime.settings.types import PositiveSeconds

LEAST_OBJECT_DAYS: Final = 31
"""Messages, dead letters included, refer to objects for 30 days."""


def _older_than_messages(days: int) -> int:
    if 0 < days < LEAST_OBJECT_DAYS:
        raise ValueError(f"must be 0 or at least {LEAST_OBJECT_DAYS}: messages refer to objects for 30 days")
    return days


class IndexerSettings(ServiceSettings):
    """indexer: what it stores."""

    PREFIX: ClassVar[str] = "INDEXER_"

    max_text_chars: int = Field(default=100_000, ge=0, le=10_000_000)
    """Longest text of a page that is stored; the rest is cut off. 0 stores no text."""
    store_noindex: bool = False
    """Store also pages with noindex."""
    keep_decisions_days: int = Field(default=90, ge=0)
    """Days that rows of url_decisions are kept, by the time of the decision. 0: for ever; so below."""
    keep_failures_days: int = Field(default=30, ge=0)
    """Days that rows of failed_requests are kept."""
    keep_errors_days: int = Field(default=90, ge=0)
    """Days that rows of error_logs are kept."""
    keep_pages_days: int = Field(default=0, ge=0)
    """Days after its last fetch that a row of crawled_pages is kept, and its products. Default: for ever."""
    keep_objects_days: Annotated[int, Field(ge=0), AfterValidator(_older_than_messages)] = 45
    """Days that objects without a row are kept: 31 or more, as messages refer to them for 30. 0: for ever."""
    clean_hours: float = Field(default=1.0, gt=0)
    """Interval at which rows that are too old are deleted."""
    statement_timeout_seconds: PositiveSeconds = 10.0
    """Timeout of one database statement, in seconds."""
