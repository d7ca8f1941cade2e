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

from .admission import Admission, Candidates
from .ground import Verdict
from .parcels import Item, Origin, Parcels
from .rules import Rules
from .settlement import LinkCounts

Place = tuple[int, str]
"""A shard, and the seen-set of a job in it."""


@dataclass(slots=True)
class Visit:
    """A page of the batch, and what became of its links so far."""

    page: PageParsed
    rules: Rules
    admission: Admission
    taken: int = 0
    seen: int = 0

    def counts(self) -> LinkCounts:
        """Sum up."""
        admission = self.admission
        return LinkCounts(
            found=admission.found,
            taken=self.taken,
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
    parts: list[tuple[Visit, Candidates, int]] = field(default_factory=list)
    """Whose they are, and how many."""

    def put(self, visit: Visit, candidates: Candidates, positions: Sequence[int]) -> None:
        """Put candidates of a page in."""
        links = candidates.links
        self.fingerprints += [links[at].fingerprint for at in positions]
        self.positions += positions
        self.parts.append((visit, candidates, len(positions)))


class Sieve:
    """Sifts the links of one batch."""

    def __init__(self, shards: int) -> None:
        self._shards = shards
        self._buckets: dict[Place, _Bucket] = {}
        self._met: dict[tuple[str, str, str], set[str]] = {}
        """For each run, what goes on without doubt."""

    def put(self, visit: Visit) -> None:
        """Put the candidates of a page in."""
        page = visit.page
        scope = seen_scope(page.job_id, page.crawl_spec_id)
        met = self._met.setdefault((page.job_id, page.execution_id, page.crawl_spec_id), set())
        for candidates in visit.admission.candidates:
            links, doubts = candidates.links, candidates.doubts
            fresh = [at for at, link in enumerate(links) if link.key not in met]
            visit.seen += len(links) - len(fresh)
            # What is doubted here, another page may take.
            met.update([links[at].key for at in fresh if not doubts[at]])
            for shard, positions in self._by_shard(links, fresh).items():
                bucket = self._buckets.get((shard, scope))
                if bucket is None:
                    bucket = self._buckets[shard, scope] = _Bucket(shard)
                bucket.put(visit, candidates, positions)

    def question(self) -> Mapping[Place, Sequence[int]]:
        """Give what is to be asked; empty where there is nothing."""
        return {place: bucket.fingerprints for place, bucket in self._buckets.items()}

    def sift(self, answers: Mapping[Place, Sequence[bool]], parcels: Parcels) -> None:
        """Give each link its way, as the answers have it."""
        for place, bucket in self._buckets.items():
            start = 0
            for visit, candidates, count in bucket.parts:
                answer = answers[place][start : start + count]
                positions = bucket.positions[start : start + count]
                new = [at for at, is_seen in zip(positions, answer, strict=True) if not is_seen]
                visit.seen += count - len(new)
                _go_on(visit, candidates, new, shard=bucket.shard, parcels=parcels)
                start += count

    def _by_shard(self, links: Sequence[Verdict], positions: Sequence[int]) -> Mapping[int, Sequence[int]]:
        by_shard: dict[int, list[int]] = {}
        for at in positions:
            by_shard.setdefault(shard_of_host(links[at].host, self._shards), []).append(at)
        return by_shard


def _go_on(visit: Visit, candidates: Candidates, new: Sequence[int], *, shard: int, parcels: Parcels) -> None:
    origin = None
    for at in new:
        if candidates.doubts[at]:
            _refuse(visit, candidates, at)
            continue
        visit.taken += 1
        origin = origin or _origin(visit.page, candidates.via)
        parcels.add(shard, _item(visit, candidates, at), origin)


def _refuse(visit: Visit, candidates: Candidates, at: int) -> None:
    doubt, spec, detail = candidates.doubts[at], visit.rules.spec, ""
    if doubt == DecisionReason.TOO_DEEP:
        detail = f"depth {visit.admission.depth}, the limit is {spec.max_depth}"
    elif doubt == DecisionReason.TOO_MANY_LINKS:
        detail = f"the limit is {spec.max_links_per_page}"
    elif doubt == visit.rules.barrier:
        detail = visit.rules.barrier_detail
    link = candidates.links[at]
    visit.admission.refusals.add(link.url, link.key, doubt, detail)


def _item(visit: Visit, candidates: Candidates, at: int) -> Item:
    kinds, lastmods, link = candidates.kinds, candidates.lastmods_ms, candidates.links[at]
    return Item(
        url=link.url,
        url_key=link.key,
        depth=visit.admission.depth,
        priority=visit.rules.spec.priority,
        kind=kinds[at] if kinds else RequestKind.PAGE,
        lastmod_ms=lastmods[at] if lastmods else -1,
    )


def _origin(page: PageParsed, via: str) -> Origin:
    return Origin(
        via,
        page.url,
        page.url_key,
        page.job_id,
        page.execution_id,
        page.crawl_spec_id,
        page.fetch_sequence,
    )
