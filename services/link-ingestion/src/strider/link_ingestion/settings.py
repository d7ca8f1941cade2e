"""What can be set about the way in."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from strider.runtime.settings import ServiceSettings
from strider.runtime.settings_types import Variable


class LinkIngestionSettings(ServiceSettings):
    """link-ingestion: which links it tells about, one by one."""

    PREFIX: ClassVar[str] = "LINK_INGESTION_"

    refusals_listed: Annotated[int, Field(ge=0, le=200)] = 200
    """Refused links of one page that are told one by one with their reason; the rest is only counted."""
    feed_discovery: Annotated[bool, Variable("CRAWLER_FEED_DISCOVERY_ENABLED")] = False
    """Whether feeds that start pages name are crawled, so that what they list is found."""
