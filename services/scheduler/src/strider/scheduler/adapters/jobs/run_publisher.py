"""Publish runs of claimed executions: crawl specs, seeds, closing messages.

Each step is acknowledged before the next one, for all runs of a batch together. A process that is killed in
between leaves locks behind, and another one publishes the same again: seeds have the number of their run, so
none is fetched twice. Seeds are signed as an owner's.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from strider.contracts import EncodeError, UnknownSchema
from strider.contracts.avro.codec import Codec
from strider.contracts.generated.events import CrawlSpecDeclared, SeedSubmitted
from strider.contracts.generated.topics import CRAWL_SPECS, SEEDS_OWNED
from strider.contracts.owner_signature import sign_value
from strider.crawl.crawl_spec_cache import CrawlSpecCache
from strider.messaging.effects import Publish
from strider.runtime.publishing.publisher import EventPublisher, check_value
from strider.scheduler.core.jobs.launch import LaunchPlan, PermanentFault

MAX_START_URLS: Final = 10_000
"""Of one run: its seeds are in memory until they are acknowledged."""


class PreparedRun:
    """A run as messages."""

    __slots__ = ("closing", "execution_id", "seeds", "spec")

    def __init__(
        self, execution_id: str, spec: CrawlSpecDeclared, seeds: tuple[Publish, ...], closing: Publish
    ) -> None:
        self.execution_id = execution_id
        self.spec = spec
        self.seeds = seeds
        self.closing = closing


class RunPublisher:
    """Publishes runs."""

    def __init__(
        self, publisher: EventPublisher, codec: Codec, crawl_specs: CrawlSpecCache, *, owner_key: str
    ) -> None:
        self._publisher = publisher
        self._codec = codec
        self._crawl_specs = crawl_specs
        self._owner_key = owner_key

    def prepare(self, plan: LaunchPlan) -> PreparedRun:
        """Encode a run; raises PermanentFault for one that its topics cannot take."""
        if len(plan.seeds) > MAX_START_URLS:
            raise PermanentFault(f"start_urls: {len(plan.seeds)} of them, the limit is {MAX_START_URLS}")
        try:
            check_value(CRAWL_SPECS, self._codec.encode(CRAWL_SPECS, plan.spec).value)
            seeds = tuple(map(self._signed, plan.seeds))
            return PreparedRun(plan.execution_id, plan.spec, seeds, self._signed(plan.closing))
        except EncodeError as failure:
            raise PermanentFault(f"the run cannot be published: {failure}") from failure

    async def publish(self, runs: Sequence[PreparedRun]) -> None:
        """Publish runs, and return once all is acknowledged. Raises Unavailable."""
        if not runs:
            return
        specs = {run.spec.crawl_spec_id: run.spec for run in runs}
        # Looked up first: a key that a tombstone may be on its way for must not be declared again.
        with suppress(UnknownSchema):  # declared by a later version: there is one with this content
            await self._crawl_specs.known(specs)
        await self._crawl_specs.declare(self._publisher, specs.values())
        await self._publisher.publish([seed for run in runs for seed in run.seeds])
        await self._publisher.publish([run.closing for run in runs])

    def _signed(self, seed: SeedSubmitted) -> Publish:
        encoded = self._codec.encode(SEEDS_OWNED, seed)
        check_value(SEEDS_OWNED, encoded.value)
        return Publish(
            SEEDS_OWNED, seed, headers=(sign_value(encoded.value, self._owner_key),), encoded=encoded
        )
