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
from strider.scheduler.core import Amount, Budgets, Fetch, settle
from strider.scheduler.core.entries import busy_ms, is_told
from strider.urls import host_of

from .noting import note_settled
from .ports import Meter, Specs
from .shard import Decided, Shard
from .tellings import question_of


class Settling:
    """Load, decide, remember: for the settled pages that one batch brought to one shard."""

    def __init__(self, meter: Meter, specs: Specs, budgets: Budgets) -> None:
        self._meter = meter
        self._specs = specs
        self._budgets = budgets

    async def settle(self, shard: Shard, pages: Sequence[PageSettled]) -> Effects:
        """Close what has gone round."""
        known, specs = await self._look(shard, pages)
        now_ms = shard.time.now_ms()
        decided: list[Decided] = []
        gone_round: list[PageSettled] = []
        words: Counter[str] = Counter()
        for page, past in zip(pages, known, strict=True):
            shard.met(page.fetch_sequence)
            cause = f"settled {page.fetch_sequence}"
            entry = shard.current(past, cause)
            closed = None
            if entry is not None:
                closed = settle(entry, page, now_ms=now_ms, spec=specs.get(entry.crawl_spec_id))
            words["settled" if closed is not None else "unsettled"] += 1
            if entry is not None and closed is not None:
                self._charge(shard, entry, page, specs.get(entry.crawl_spec_id))
                gone_round.append(page)
                decided.append(shard.decide(closed, before=entry, cause=cause))
        if not decided:
            return self._nothing(words)
        return Effects(
            after_ack=partial(self._remember, shard, decided, gone_round, words), outcome="settled"
        )

    async def _look(
        self, shard: Shard, pages: Sequence[PageSettled]
    ) -> tuple[Sequence[EntryLookupResult], Mapping[str, CrawlSpecDeclared]]:
        """Give what is known of the entries and of their crawl specs, at one and the same moment."""
        asked = [question_of(page.job_id, page.url_key, "") for page in pages]
        while True:
            with shard.concluding() as concluded:
                known = await shard.look(asked)
                concluded.clear()
                wanted = {past.entry.crawl_spec_id for past in known if past.entry is not None}
                specs = await self._specs.known(wanted)
            if concluded.isdisjoint(question.entry_id for question in asked):
                return known, specs

    def _charge(
        self, shard: Shard, entry: EntryRecorded, page: PageSettled, spec: CrawlSpecDeclared | None
    ) -> None:
        """Note that a page came whose outcome was not read, and perhaps never will be."""
        if spec is None or entry.state != EntryState.PENDING:
            return
        limits = self._budgets.allowance_of(spec)
        fetch = Fetch(
            entry.execution_id,
            entry_id(entry.job_id, entry.url_key),
            host_of(entry.url),
            limits,
            sequence=page.fetch_sequence,
            has_page=True,
            cost=Amount(0, page.body_bytes, busy_ms(page)) if is_told(page) else limits.request,
            lease_id=str(page.fetch_sequence),
            is_guess=not is_told(page),
        )
        self._budgets.settle(shard.number, fetch, now=shard.time.monotonic())

    def _nothing(self, words: Counter[str]) -> Effects:
        self._count(words)
        return replace(NO_EFFECTS, outcome="unsettled")

    async def _remember(
        self, shard: Shard, decided: Sequence[Decided], pages: Sequence[PageSettled], words: Counter[str]
    ) -> None:
        await shard.settle(decided)
        self._count(words)
        note_settled(self._meter, pages)

    def _count(self, words: Counter[str]) -> None:
        for word, count in words.items():
            self._meter.decided(word, count)
