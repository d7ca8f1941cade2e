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
    trap_pages: Annotated[int, Field(ge=0, le=10_000)] = 50
    """Pages of one URL template (calendar, filters, session ids) that may bring nothing new before new links
    to it are refused as `trap_suspected`, so that endless sites end; 0: no limit."""
    feed_discovery: Annotated[bool, EnvironmentVariable("CRAWLER_FEED_DISCOVERY_ENABLED")] = False
    """Whether feeds of start pages are crawled, so that their entries are found."""
