"""pages-settled -> close the entry of the same run and fetch, or have it come again -> frontier."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from strider.contracts.generated.enums import EntryState
from strider.contracts.generated.events import CrawlSpecDeclared, EntryRecorded, PageSettled
from strider.contracts.ids import entry_id
from strider.frontier.models import EntryLookupResult
from strider.messaging.effects import NO_EFFECTS, Effects
from strider.scheduler.core import BudgetAmount, BudgetedFetch, RunBudgets, apply_settlement
from strider.scheduler.core.entries.state import busy_ms, has_fetch_fields
from strider.scheduler.loops.run_log import note_settled_pages
from strider.scheduler.ports import Meter, Specs
from strider.scheduler.shard.shard import Decided, OwnedShard
from strider.scheduler.shard.store_mapping import entry_lookup
from strider.urls import host_of


class PagesSettledHandler:
    """Load, decide, remember: for the settled pages that one batch brought to one shard."""

    def __init__(self, meter: Meter, specs: Specs, budgets: RunBudgets) -> None:
        self._meter = meter
        self._specs = specs
        self._budgets = budgets

    async def handle(self, shard: OwnedShard, pages: Sequence[PageSettled]) -> Effects:
        """Close what has gone round."""
        known, specs = await self._look(shard, pages)
        now_ms = shard.clock.now_ms()
        decided: list[Decided] = []
        gone_round: list[PageSettled] = []
        words: Counter[str] = Counter()
        for page, past in zip(pages, known, strict=True):
            shard.note_fetch_sequence(page.fetch_sequence)
            cause = f"settled {page.fetch_sequence}"
            entry = shard.latest_entry(past, cause)
            closed = None
            if entry is not None:
                closed = apply_settlement(entry, page, now_ms=now_ms, spec=specs.get(entry.crawl_spec_id))
            words["settled" if closed is not None else "unsettled"] += 1
            if entry is not None and closed is not None:
                self._charge_budget(shard, entry, page, specs.get(entry.crawl_spec_id))
                gone_round.append(page)
                decided.append(shard.decide(closed, before=entry, cause=cause))
        if not decided:
            return self._nothing(words)
        return Effects(
            after_ack=partial(self._remember, shard, decided, gone_round, words), outcome="settled"
        )

    async def _look(
        self, shard: OwnedShard, pages: Sequence[PageSettled]
    ) -> tuple[Sequence[EntryLookupResult], Mapping[str, CrawlSpecDeclared]]:
        """Give what is known of the entries and of their crawl specs, at one and the same moment."""
        asked = [entry_lookup(page.job_id, page.url_key, "") for page in pages]
        while True:
            with shard.watch_conclusions() as concluded:
                known = await shard.load_entries(asked)
                concluded.clear()
                wanted = {past.entry.crawl_spec_id for past in known if past.entry is not None}
                specs = await self._specs.known(wanted)
            if concluded.isdisjoint(question.entry_id for question in asked):
                return known, specs

    def _charge_budget(
        self, shard: OwnedShard, entry: EntryRecorded, page: PageSettled, spec: CrawlSpecDeclared | None
    ) -> None:
        """Note that a page came whose outcome was not read, and perhaps never will be."""
        if spec is None or entry.state != EntryState.PENDING:
            return
        limits = self._budgets.allowance_of(spec)
        fetch = BudgetedFetch(
            entry.execution_id,
            entry_id(entry.job_id, entry.url_key),
            host_of(entry.url),
            limits,
            sequence=page.fetch_sequence,
            has_page=True,
            cost=BudgetAmount(0, page.body_bytes, busy_ms(page))
            if has_fetch_fields(page)
            else limits.request,
            lease_id=str(page.fetch_sequence),
            is_guess=not has_fetch_fields(page),
        )
        self._budgets.record_settled_page(shard.number, fetch, now=shard.clock.monotonic())

    def _nothing(self, counts: Counter[str]) -> Effects:
        self._count(counts)
        return replace(NO_EFFECTS, outcome="unsettled")

    async def _remember(
        self,
        shard: OwnedShard,
        pending: Sequence[Decided],
        pages: Sequence[PageSettled],
        counts: Counter[str],
    ) -> None:
        await shard.commit_decisions(pending)
        self._count(counts)
        note_settled_pages(self._meter, pages)

    def _count(self, counts: Counter[str]) -> None:
        for word, count in counts.items():
            self._meter.count_decision(word, count)
