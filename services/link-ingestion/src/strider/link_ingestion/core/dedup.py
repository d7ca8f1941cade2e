"""Deduplication of a batch's links, with one query to the seen-set for all pages.

Groups the candidates by shard and seen-set, and distributes them by the reply: new links go to the link
batches, new links with an objection to the refusals, all others are counted. A link that two pages of a batch
share is accepted once. Sends no query itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from strider.contracts.generated.enums import DecisionReason, RequestKind
from strider.contracts.generated.events import PageParsed
from strider.contracts.ids import seen_scope
from strider.contracts.partitioning import shard_of_host
from strider.urls.templates import url_template

from .admission import LinkAdmission, LinkCandidates
from .link_batches import LinkBatches, LinkItem, LinkOrigin
from .link_filter import LinkVerdict
from .settlement import LinkCounts
from .spec_rules import SpecRules

SeenScope = tuple[int, str]
"""A shard, and the seen-set of a job in it."""


@dataclass(slots=True)
class AdmittedPage:
    """A page of the batch, and the counts of its links so far."""

    page: PageParsed
    rules: SpecRules
    admission: LinkAdmission
    accepted: int = 0
    seen: int = 0

    def counts(self) -> LinkCounts:
        """Return the counts of the page's links."""
        admission = self.admission
        return LinkCounts(
            found=admission.found,
            accepted=self.accepted,
            seen=self.seen + admission.repeated,
            refused=admission.refusals.count,
        )


@dataclass(slots=True)
class _Bucket:
    """Candidates of one shard and one seen-set, page after page."""

    shard: int
    fingerprints: list[int] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)
    """Position of each candidate among those of its page."""
    parts: list[tuple[AdmittedPage, LinkCandidates, int]] = field(default_factory=list)
    """The pages of the candidates, and how many of each."""

    def add(self, page: AdmittedPage, candidates: LinkCandidates, positions: Sequence[int]) -> None:
        """Add candidates of a page."""
        links = candidates.links
        self.fingerprints += [links[at].fingerprint for at in positions]
        self.positions += positions
        self.parts.append((page, candidates, len(positions)))


class LinkDeduplicator:
    """Deduplicates the links of one batch."""

    def __init__(self, shards: int) -> None:
        self._shards = shards
        self._buckets: dict[SeenScope, _Bucket] = {}
        self._accepted_keys: dict[tuple[str, str, str], set[str]] = {}
        """For each run, the links that are candidates without an objection."""

    def add(self, page: AdmittedPage) -> None:
        """Add the candidates of a page."""
        event = page.page
        scope = seen_scope(event.job_id, event.crawl_spec_id)
        run = (event.job_id, event.execution_id, event.crawl_spec_id)
        accepted = self._accepted_keys.setdefault(run, set())
        for candidates in page.admission.candidates:
            links, objections = candidates.links, candidates.objections
            fresh = [at for at, link in enumerate(links) if link.key not in accepted]
            page.seen += len(links) - len(fresh)
            # A link with an objection here may be accepted from another page.
            accepted.update([links[at].key for at in fresh if not objections[at]])
            for shard, positions in self._by_shard(links, fresh).items():
                bucket = self._buckets.get((shard, scope))
                if bucket is None:
                    bucket = self._buckets[shard, scope] = _Bucket(shard)
                bucket.add(page, candidates, positions)

    def seen_query(self) -> Mapping[SeenScope, Sequence[int]]:
        """Return the fingerprints to look up; empty where there are none."""
        return {place: bucket.fingerprints for place, bucket in self._buckets.items()}

    def apply(self, reply: Mapping[SeenScope, Sequence[bool]], batches: LinkBatches) -> None:
        """Distribute all links by the seen-set's reply."""
        for place, bucket in self._buckets.items():
            start = 0
            for page, candidates, count in bucket.parts:
                is_known = reply[place][start : start + count]
                positions = bucket.positions[start : start + count]
                new = [at for at, is_seen in zip(positions, is_known, strict=True) if not is_seen]
                page.seen += count - len(new)
                _accept_new(page, candidates, new, shard=bucket.shard, batches=batches)
                start += count

    def _by_shard(
        self, links: Sequence[LinkVerdict], positions: Sequence[int]
    ) -> Mapping[int, Sequence[int]]:
        by_shard: dict[int, list[int]] = {}
        for at in positions:
            by_shard.setdefault(shard_of_host(links[at].host, self._shards), []).append(at)
        return by_shard


def _accept_new(
    page: AdmittedPage, candidates: LinkCandidates, new: Sequence[int], *, shard: int, batches: LinkBatches
) -> None:
    origin = None
    for at in new:
        if candidates.objections[at]:
            _refuse(page, candidates, at)
            continue
        page.accepted += 1
        origin = origin or _origin(page.page, candidates.via)
        batches.add(shard, _item(page, candidates, at), origin)


def _refuse(page: AdmittedPage, candidates: LinkCandidates, at: int) -> None:
    objection, spec, detail = candidates.objections[at], page.rules.spec, ""
    if objection == DecisionReason.TOO_DEEP:
        detail = f"depth {page.admission.depth}, the limit is {spec.max_depth}"
    elif objection == DecisionReason.TOO_MANY_LINKS:
        detail = f"the limit is {spec.max_links_per_page}"
    elif objection == page.rules.barrier:
        detail = page.rules.barrier_detail
    link = candidates.links[at]
    if objection == DecisionReason.TRAP_SUSPECTED:
        detail = f"few pages like {link.host}{url_template(link.url).text} had new text"
    page.admission.refusals.add(link.url, link.key, objection, detail)


def _item(page: AdmittedPage, candidates: LinkCandidates, at: int) -> LinkItem:
    kinds, lastmods, link = candidates.kinds, candidates.lastmods_ms, candidates.links[at]
    return LinkItem(
        url=link.url,
        url_key=link.key,
        depth=page.admission.depth,
        priority=page.rules.spec.priority,
        kind=kinds[at] if kinds else RequestKind.PAGE,
        lastmod_ms=lastmods[at] if lastmods else -1,
    )


def _origin(page: PageParsed, via: str) -> LinkOrigin:
    return LinkOrigin(
        via,
        page.url,
        page.url_key,
        page.job_id,
        page.execution_id,
        page.crawl_spec_id,
        page.fetch_sequence,
    )
