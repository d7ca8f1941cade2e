"""Settings of the indexer."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from strider.runtime.settings.base import ServiceSettings
from strider.runtime.settings.types import PositiveSeconds


class IndexerSettings(ServiceSettings):
    """indexer: what it stores."""

    PREFIX: ClassVar[str] = "INDEXER_"

    max_text_chars: int = Field(default=100_000, ge=0, le=10_000_000)
    """Longest text of a page that is stored; the rest is cut off. 0 stores no text."""
    store_noindex: bool = False
    """Store also pages with noindex."""
    statement_timeout_seconds: PositiveSeconds = 10.0
    """Timeout of one database statement, in seconds."""
