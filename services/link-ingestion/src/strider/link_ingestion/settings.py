"""Settings of link ingestion."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from strider.runtime.settings.base import ServiceSettings
from strider.runtime.settings.types import EnvironmentVariable


class LinkIngestionSettings(ServiceSettings):
    """link-ingestion: which refused links it lists."""

    PREFIX: ClassVar[str] = "LINK_INGESTION_"

    refusals_listed: Annotated[int, Field(ge=0, le=200)] = 200
    """Refused links of one page that are listed with their reason; the rest is only counted."""
    feed_discovery: Annotated[bool, EnvironmentVariable("CRAWLER_FEED_DISCOVERY_ENABLED")] = False
    """Whether feeds of start pages are crawled, so that their entries are found."""
