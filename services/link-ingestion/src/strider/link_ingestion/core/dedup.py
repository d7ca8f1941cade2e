"""Which of a batch's links are new, with one question to the seen-set for all pages together?

Groups the candidates by shard and seen-set, and gives out what the answers leave: parcels for what
is new, refusals for what is new and has a word against it, counts for the rest. A link that two
pages of a batch share goes on once. Asks nobody itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from strider.contracts.generated.events import PageParsed
from strider.contracts.generated.words import DecisionReason, RequestKind
from strider.contracts.identity import seen_scope
from strider.contracts.partitioning import shard_of_host

from .admission import LinkAdmission, LinkCandidates
from .link_batches import LinkBatches, LinkItem, LinkOrigin
from .link_filter import LinkVerdict
from .settlement import LinkCounts
from .spec_rules import SpecRules

SeenScope = tuple[int, str]
"""A shard, and the seen-set of a job in it."""


@dataclass(slots=True)
class AdmittedPage:
    """A page of the batch, and what became of its links so far."""

    page: PageParsed
    rules: SpecRules
    admission: LinkAdmission
    accepted: int = 0
    seen: int = 0

    def counts(self) -> LinkCounts:
        """Sum up."""
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
    """Where each stands among the candidates of its page."""
    parts: list[tuple[AdmittedPage, LinkCandidates, int]] = field(default_factory=list)
    """Whose they are, and how many."""

    def add(self, visit: AdmittedPage, candidates: LinkCandidates, positions: Sequence[int]) -> None:
        """Put candidates of a page in."""
        links = candidates.links
        self.fingerprints += [links[at].fingerprint for at in positions]
        self.positions += positions
        self.parts.append((visit, candidates, len(positions)))


class LinkDeduplicator:
    """Sifts the links of one batch."""

    def __init__(self, shards: int) -> None:
        self._shards = shards
        self._buckets: dict[SeenScope, _Bucket] = {}
        self._accepted_keys: dict[tuple[str, str, str], set[str]] = {}
        """For each run, what goes on without doubt."""

    def add(self, visit: AdmittedPage) -> None:
        """Put the candidates of a page in."""
        page = visit.page
        scope = seen_scope(page.job_id, page.crawl_spec_id)
        met = self._accepted_keys.setdefault((page.job_id, page.execution_id, page.crawl_spec_id), set())
        for candidates in visit.admission.candidates:
            links, doubts = candidates.links, candidates.objections
            fresh = [at for at, link in enumerate(links) if link.key not in met]
            visit.seen += len(links) - len(fresh)
            # What is doubted here, another page may take.
            met.update([links[at].key for at in fresh if not doubts[at]])
            for shard, positions in self._by_shard(links, fresh).items():
                bucket = self._buckets.get((shard, scope))
                if bucket is None:
                    bucket = self._buckets[shard, scope] = _Bucket(shard)
                bucket.add(visit, candidates, positions)

    def seen_query(self) -> Mapping[SeenScope, Sequence[int]]:
        """Give what is to be asked; empty where there is nothing."""
        return {place: bucket.fingerprints for place, bucket in self._buckets.items()}

    def apply(self, answers: Mapping[SeenScope, Sequence[bool]], parcels: LinkBatches) -> None:
        """Give each link its way, as the answers have it."""
        for place, bucket in self._buckets.items():
            start = 0
            for visit, candidates, count in bucket.parts:
                answer = answers[place][start : start + count]
                positions = bucket.positions[start : start + count]
                new = [at for at, is_seen in zip(positions, answer, strict=True) if not is_seen]
                visit.seen += count - len(new)
                _accept_new(visit, candidates, new, shard=bucket.shard, parcels=parcels)
                start += count

    def _by_shard(
        self, links: Sequence[LinkVerdict], positions: Sequence[int]
    ) -> Mapping[int, Sequence[int]]:
        by_shard: dict[int, list[int]] = {}
        for at in positions:
            by_shard.setdefault(shard_of_host(links[at].host, self._shards), []).append(at)
        return by_shard


def _accept_new(
    visit: AdmittedPage, candidates: LinkCandidates, new: Sequence[int], *, shard: int, parcels: LinkBatches
) -> None:
    origin = None
    for at in new:
        if candidates.objections[at]:
            _refuse(visit, candidates, at)
            continue
        visit.accepted += 1
        origin = origin or _origin(visit.page, candidates.via)
        parcels.add(shard, _item(visit, candidates, at), origin)


def _refuse(visit: AdmittedPage, candidates: LinkCandidates, at: int) -> None:
    doubt, spec, detail = candidates.objections[at], visit.rules.spec, ""
    if doubt == DecisionReason.TOO_DEEP:
        detail = f"depth {visit.admission.depth}, the limit is {spec.max_depth}"
    elif doubt == DecisionReason.TOO_MANY_LINKS:
        detail = f"the limit is {spec.max_links_per_page}"
    elif doubt == visit.rules.barrier:
        detail = visit.rules.barrier_detail
    link = candidates.links[at]
    visit.admission.refusals.add(link.url, link.key, doubt, detail)


def _item(visit: AdmittedPage, candidates: LinkCandidates, at: int) -> LinkItem:
    kinds, lastmods, link = candidates.kinds, candidates.lastmods_ms, candidates.links[at]
    return LinkItem(
        url=link.url,
        url_key=link.key,
        depth=visit.admission.depth,
        priority=visit.rules.spec.priority,
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
