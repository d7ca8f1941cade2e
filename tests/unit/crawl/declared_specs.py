"""Crawl specs in memory, in place of the cache that reads their topic."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from strider.contracts.generated.events import CrawlSpecDeclared


class DeclaredSpecs:
    """A lookup of the crawl specs that it was made with."""

    def __init__(self, *specs: CrawlSpecDeclared) -> None:
        self._specs = {spec.crawl_spec_id: spec for spec in specs}

    async def known(self, spec_ids: Iterable[str]) -> Mapping[str, CrawlSpecDeclared]:
        """Return those of these specs that exist."""
        return {spec_id: self._specs[spec_id] for spec_id in spec_ids if spec_id in self._specs}
