"""Settings of link ingestion."""

from __future__ import annotations

from typing import Annotated, ClassVar, Self

from pydantic import AfterValidator, Field, model_validator

from strider.contracts.generated.enums import RequestKind
from strider.contracts.seed_limits import MAX_DEPTH
from strider.runtime.settings.base import HeadersSettings, OwnerSettings, ServiceSettings, SettingsArea
from strider.runtime.settings.types import EnvironmentVariable, Seconds, ValueList


def require_kinds(kinds: tuple[str, ...]) -> tuple[str, ...]:
    """Refuse kinds of documents that seeds cannot have."""
    known = sorted(set(RequestKind) - {RequestKind.ROBOTS})
    if unknown := set(kinds) - set(known):
        raise ValueError(f"must be of {', '.join(known)}; {', '.join(sorted(unknown))} is not")
    return kinds


class SeedSettings(SettingsArea):
    """Raw seeds, those without an owner's signature: what an unknown sender may set."""

    PREFIX: ClassVar[str] = "STRIDER_SEEDS_"

    min_delay_seconds: Annotated[Seconds, EnvironmentVariable("STRIDER_SEEDS_MIN_DELAY")] = 1.0
    """Shortest crawl delay that a raw seed may set, since it holds for all who crawl the host; a seed of a
    loopback host may set less where private addresses are allowed.
    """
    max_delay_seconds: Annotated[Seconds, EnvironmentVariable("STRIDER_SEEDS_MAX_DELAY")] = 60.0
    """Longest crawl delay that a raw seed may set, for the same reason."""
    max_priority: Annotated[int, Field(ge=0, le=3)] = 3
    """Highest priority of a raw seed, 0 to 3; the scheduler shares by weight, so 3 starves nothing."""
    max_depth: Annotated[int, Field(ge=1, le=MAX_DEPTH)] = MAX_DEPTH
    """Greatest depth that a raw seed may set."""
    max_pages: Annotated[int, Field(ge=0)] = 0
    """Most pages that a raw seed may set as the limit of its run or of a host; 0: no ceiling. Where it sets
    none, SCHEDULER_MAX_PAGES applies; the same holds for bytes and seconds.
    """
    max_bytes: Annotated[int, Field(ge=0)] = 0
    """Most bytes that a raw seed may set; 0: no ceiling."""
    max_seconds: Annotated[int, Field(ge=0)] = 0
    """Most seconds that a raw seed may set; 0: no ceiling."""
    max_headers: Annotated[int, Field(ge=0)] = 16
    """Most request headers of a raw seed; they are kept with its crawl spec."""
    max_header_bytes: Annotated[int, Field(ge=0)] = 4096
    """Most bytes of these headers, names and values together."""
    max_metadata_bytes: Annotated[int, Field(ge=0)] = 4096
    """Most bytes of a raw seed's metadata, which are copied to each page result."""
    max_spec_bytes: Annotated[int, Field(ge=0)] = 4096
    """Most bytes of a raw seed's field `spec`; 0 refuses it."""
    allow_fresh: bool = True
    """Whether a raw seed may set `fresh`, which fetches without conditions what is known."""
    kinds: Annotated[ValueList, AfterValidator(require_kinds)] = (
        RequestKind.PAGE.value,
        RequestKind.SITEMAP.value,
        RequestKind.FEED.value,
    )
    """Kinds of documents that a raw seed may expect."""

    @model_validator(mode="after")
    def _delays_are_a_range(self) -> Self:
        if self.min_delay_seconds > self.max_delay_seconds:
            raise ValueError("STRIDER_SEEDS_MIN_DELAY must not be greater than STRIDER_SEEDS_MAX_DELAY")
        return self


class LinkIngestionSettings(ServiceSettings):
    """link-ingestion: which refused links it lists."""

    PREFIX: ClassVar[str] = "LINK_INGESTION_"

    owner: OwnerSettings = OwnerSettings()
    headers: HeadersSettings = HeadersSettings()
    seeds: SeedSettings = SeedSettings()
    refusals_listed: Annotated[int, Field(ge=0, le=200)] = 200
    """Refused links of one page that are listed with their reason; the rest is only counted."""
    raw_seeds_waiting: Annotated[int, Field(ge=500)] = 2_000
    """URLs of raw seeds that one process publishes before the scheduler has read them; then it reads no
    further ones, so that those of owners do not wait behind them."""
    trap_pages: Annotated[int, Field(ge=0, le=10_000)] = 50
    """Pages of one URL template (calendar, filters, session ids) that may bring nothing new before new links
    to it are refused as `trap_suspected`, so that endless sites end; 0: no limit."""
    feed_discovery: Annotated[bool, EnvironmentVariable("CRAWLER_FEED_DISCOVERY_ENABLED")] = False
    """Whether feeds of start pages are found in every crawl, and not only where its spec has `use_feeds`.
    They are recorded; CRAWLER_FEED_POLL_ENABLED, or `feed_poll_seconds` of the crawl spec, polls them."""
