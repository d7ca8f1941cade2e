"""What can be set about parsing."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from strider.runtime.settings.base import ServiceSettings
from strider.runtime.settings.types import EnvironmentVariable, PositiveSeconds


class ParserSettings(ServiceSettings):
    """parser: how much of a page it reads, and with what."""

    PREFIX: ClassVar[str] = "PARSER_"

    workers: Annotated[int, Field(ge=1, le=256)] = 1
    """Processes that read pages; each fills one core."""
    page_seconds: Annotated[PositiveSeconds, EnvironmentVariable("PARSER_PAGE_DEADLINE")] = 2.0
    """Processor time for one page; five times as much by the clock. Then its worker is ended."""
    memory_mb: Annotated[int, Field(ge=64)] = 512
    """Memory of one worker; a page that needs more ends it."""
    max_page_mb: Annotated[int, Field(ge=1, le=50)] = 10
    """Largest page, once its encodings are undone."""
    max_links: Annotated[int, Field(ge=1, le=10_000)] = 1_000
    """Links of one page that travel; the best are kept."""
    extraction: Literal["", "basic", "main", "records"] = ""
    """How much of every page is extracted, whatever its crawl asks for; empty: what the crawl asks for.
    `main` adds main text, kind, pagination, dates and SimHash; `records` structured data, products, and
    what parsers of single sites say.
    """
    with_markdown: bool = False
    """Whether main text comes as Markdown too."""
    site_parsers: str = ""
    """Versions of site parsers that read, such as `amazon=1.0, other=off`; of the others the newest reads."""
    shadow: bool = False
    """Whether it reads beside the live parser, in a group of its own, and speaks on `pages-parsed-shadow`."""
    robot_name: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,64}$")] = "strider"
    """The name by which meta elements and X-Robots-Tag headers may speak to this crawler alone."""
