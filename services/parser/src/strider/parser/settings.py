"""Settings of the parser."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from strider.runtime.settings.base import ServiceSettings
from strider.runtime.settings.types import EnvironmentVariable, PositiveSeconds


class ParserSettings(ServiceSettings):
    """parser: how much of a page is parsed, and with what limits."""

    PREFIX: ClassVar[str] = "PARSER_"

    workers: Annotated[int, Field(ge=1, le=256)] = 1
    """Worker processes that parse pages; each can use one core."""
    page_seconds: Annotated[PositiveSeconds, EnvironmentVariable("PARSER_PAGE_DEADLINE")] = 2.0
    """Processor time for one page, in seconds; five times as much of wall-clock time. Then its worker is
    killed.
    """
    memory_mb: Annotated[int, Field(ge=64)] = 512
    """Memory limit of one worker in MB; a page that needs more ends its worker."""
    max_page_mb: Annotated[int, Field(ge=1, le=50)] = 10
    """Largest page in MB, after decompression."""
    max_links: Annotated[int, Field(ge=1, le=10_000)] = 1_000
    """Links of one page that are published; the best ones are kept."""
    extraction: Literal["", "basic", "main", "records"] = ""
    """Extraction level for every page, whatever its crawl asks for; empty: the level of the crawl. `main`
    adds main text, kind, pagination, dates and SimHash; `records` adds structured data, products, and the
    fields of site parsers.
    """
    with_markdown: bool = False
    """Extract the main text as Markdown too."""
    site_parsers: str = ""
    """Versions of site parsers to use, such as `amazon=1.0, other=off`; by default the newest."""
    shadow: bool = False
    """Run beside the live parser in a consumer group of its own and publish to `pages-parsed-shadow` only."""
    robot_name: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,64}$")] = "strider"
    """Robot name by which meta elements and X-Robots-Tag headers address this crawler alone."""
