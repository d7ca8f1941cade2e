"""Options of link ingestion: what applies to all crawls of a deployment, with defaults."""

from __future__ import annotations

from dataclasses import dataclass, field

from strider.politeness import ProtectHeaders, refuse_clear_values

from .core import DEFAULT_LIMITS, RawSeedLimits
from .core.traps import DEFAULT_TRAP_PAGES


@dataclass(frozen=True, slots=True)
class IngestionPolicy:
    """Settings that apply to all crawls of a deployment."""

    shards: int
    allow_private: bool = False
    refusals_listed: int = 200
    """Refused links of one page that are listed."""
    discovers_feeds: bool = False
    """Whether feeds of start pages are links in every crawl; the scheduler decides which are polled."""
    owner_key: str = field(default="", repr=False)
    """Key that owners of seeds sign with; empty: no sender is an owner."""
    is_closed: bool = False
    """Whether no unknown sender can reach the bus, so that each sender of seeds is an owner."""
    raw_seeds: RawSeedLimits = DEFAULT_LIMITS
    protect_headers: ProtectHeaders = refuse_clear_values
    """Encrypts the personal headers of seeds."""
    trap_pages: int = DEFAULT_TRAP_PAGES
    """Pages of a URL template without new text after which new links to it are refused; 0: never."""
