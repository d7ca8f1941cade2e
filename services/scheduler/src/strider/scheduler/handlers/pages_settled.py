"""Handle pages-settled: close the entry of the same run and fetch, or schedule its recrawl."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from strider.contracts.generated.enums import EntryState
from strider.contracts.generated.events import CrawlSpecDeclared, EntryRecorded, PageSettled
from strider.contracts.ids import entry_id
from strider.crawl.crawl_spec_cache import CrawlSpecCache
from strider.frontier.models import EntryLookupResult
from strider.messaging.effects import NO_EFFECTS, Effects
from strider.scheduler.core.budgets.ledger import BudgetKey
from strider.scheduler.core.budgets.limits import BudgetAmount
from strider.scheduler.core.budgets.reservations import RunBudgets
from strider.scheduler.core.budgets.usage import BudgetedFetch
from strider.scheduler.core.entries.feed_polling import NO_POLLING, FeedPolling
from strider.scheduler.core.entries.settlement import apply_settlement, has_fetch_fields
from strider.scheduler.core.entries.state import request_duration_ms
from strider.scheduler.loops.run_log import note_settled_pages
from strider.scheduler.ports import SchedulerMeter
from strider.scheduler.shard.in_progress import PendingDecision
from strider.scheduler.shard.shard import OwnedShard
from strider.scheduler.shard.store_mapping import entry_lookup
from strider.urls import host_of


class PagesSettledHandler:
    """Load, decide, write state: for the settled pages of one batch in one shard."""

    def __init__(
        self,
        meter: SchedulerMeter,
        crawl_specs: CrawlSpecCache,
        budgets: RunBudgets,
        *,
        polling: FeedPolling = NO_POLLING,
    ) -> None:
        self._polling = polling
        self._meter = meter
        self._crawl_specs = crawl_specs
        self._budgets = budgets

    async def handle(self, shard: OwnedShard, pages: Sequence[PageSettled]) -> Effects:
        """Close the entries of settled pages."""
        known, specs = await self._load(shard, pages)
        now_ms = shard.clock.now_ms()
        pending: list[PendingDecision] = []
        settled: list[PageSettled] = []
        counts: Counter[str] = Counter()
        for page, prior in zip(pages, known, strict=True):
            shard.note_fetch_sequence(page.fetch_sequence)
            cause = f"settled {page.fetch_sequence}"
            entry = shard.decisions.latest_entry(prior, cause)
            closed = None
            if entry is not None:
                spec = specs.get(entry.crawl_spec_id)
                closed = apply_settlement(entry, page, now_ms=now_ms, spec=spec, polling=self._polling)
            counts["settled" if closed is not None else "unsettled"] += 1
            if entry is not None and closed is not None:
                self._charge_budget(shard, entry, page, specs.get(entry.crawl_spec_id))
                settled.append(page)
                pending.append(shard.begin_decision(closed, before=entry, cause=cause))
        if not pending:
            return self._nothing(counts)
        return Effects(
            after_ack=partial(self._write_state, shard, pending, settled, counts), outcome="settled"
        )

    async def _load(
        self, shard: OwnedShard, pages: Sequence[PageSettled]
    ) -> tuple[Sequence[EntryLookupResult], Mapping[str, CrawlSpecDeclared]]:
        """Return the entries and their crawl specs, both as of the same moment."""
        lookups = [entry_lookup(page.job_id, page.url_key, "") for page in pages]
        while True:
            with shard.decisions.watch_conclusions() as concluded:
                known = await shard.load_entries(lookups)
                concluded.clear()
                wanted = {prior.entry.crawl_spec_id for prior in known if prior.entry is not None}
                specs = await self._crawl_specs.known(wanted)
            if concluded.isdisjoint(lookup.entry_id for lookup in lookups):
                return known, specs

    def _charge_budget(
        self, shard: OwnedShard, entry: EntryRecorded, page: PageSettled, spec: CrawlSpecDeclared | None
    ) -> None:
        """Charge a page whose outcome was not read yet, and may never be."""
        if spec is None or entry.state != EntryState.PENDING:
            return
        limits = self._budgets.limits_of(spec)
        fetch = BudgetedFetch(
            BudgetKey(entry.execution_id, entry.crawl_spec_id),
            entry_id(entry.job_id, entry.url_key),
            host_of(entry.url),
            limits,
            sequence=page.fetch_sequence,
            has_page=True,
            cost=BudgetAmount(0, page.body_bytes, request_duration_ms(page))
            if has_fetch_fields(page)
            else limits.request,
            lease_id=str(page.fetch_sequence),
            is_estimate=not has_fetch_fields(page),
        )
        self._budgets.record_settled_page(shard.number, fetch, now=shard.clock.monotonic())

    def _nothing(self, counts: Counter[str]) -> Effects:
        self._count_decisions(counts)
        return replace(NO_EFFECTS, outcome="unsettled")

    async def _write_state(
        self,
        shard: OwnedShard,
        pending: Sequence[PendingDecision],
        pages: Sequence[PageSettled],
        counts: Counter[str],
    ) -> None:
        await shard.commit_decisions(pending)
        self._count_decisions(counts)
        note_settled_pages(self._meter, pages)

    def _count_decisions(self, counts: Counter[str]) -> None:
        for decision, count in counts.items():
            self._meter.count_decision(decision, count)
