"""Runs of other people that continue during an attack, and what must be true of them afterwards.

Two runs crawl sites of their own: an owner's, and the one that all raw seeds without limits share. Their pace
is set by politeness alone, and is read from the sites' own logs: before an attack and from its beginning on.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from itertools import count, pairwise
from pathlib import Path
from statistics import median
from typing import Any, Final, Protocol

from confluent_kafka import Producer

from strider.contracts.generated.topics import SEEDS_OWNED, SEEDS_SUBMITTED
from strider.contracts.seed_names import RAW_PREFIX
from strider.frontier.turns import flow_of
from strider.testing.owner import OWNER_SETTINGS, owner_headers
from strider.testing.site import ServedSite, SiteShape, serve_site
from tests.e2e.pipeline import SHARDS, Ring
from tests.figures import record_figure
from tests.processes.waiting import until

DELAY_SECONDS: Final = 0.6
PACE_TOLERANCE: Final = 0.10
"""An attack may change the time between two requests of another run by this part."""
SHAPE: Final = SiteShape(hosts=2, pages_per_host=26, children=26, is_plain=True)
"""Every page is linked from its host's front page: the pace depends on no other page."""
QUIET_REQUESTS: Final = 10
"""Requests to each host before an attack begins: robots.txt, the front page, and the pace in peace."""
SKIPPED_REQUESTS: Final = 2
"""Of these, robots.txt and the front page, whose links are still on their way."""
END_SECONDS: Final = 120.0
OWN_PREFIXES: Final = ("STRIDER_", "KAFKA_", "POSTGRES_", "REDIS_", "LOCALDOMAIN")
"""Variables that commands get from the pipeline alone."""


class ServeSite(Protocol):
    """Serves a generated site under names of its own, as `serve_site` does."""

    def __call__(
        self, seed: int, shape: SiteShape, *, log: Path, name: str
    ) -> AbstractContextManager[ServedSite]:
        """Serve it while the context lasts."""


@dataclass(slots=True)
class Neighbour:
    """One run of another sender."""

    kind: str
    site: ServedSite
    job_id: str
    run: str = ""
    """Known once its first page is stored."""

    def starts(self) -> dict[str, list[float]]:
        """Return when the requests to each host began."""
        return {
            host: [line.started for line in lines] for host, lines in self.site.requests_by_host().items()
        }

    @property
    def is_under_way(self) -> bool:
        """Whether each host was requested often enough to know its pace."""
        starts = self.starts()
        return len(starts) == SHAPE.hosts and all(len(each) >= QUIET_REQUESTS for each in starts.values())

    def intervals(self, first: float, last: float) -> list[float]:
        """Return the times between requests to one host that began within a span."""
        return [
            after - before
            for starts in self.starts().values()
            for before, after in pairwise(starts[SKIPPED_REQUESTS:])
            if first <= before and after <= last
        ]


@dataclass(slots=True)
class Stage:
    """A running pipeline, and the neighbours of one attack."""

    ring: Ring
    directory: Path
    neighbours: list[Neighbour] = field(default_factory=list)
    shape: SiteShape = SHAPE
    """Of the neighbours' sites."""
    serve: ServeSite = serve_site
    """Serves a neighbour's site, by default under names that no name server is asked for."""

    def send(self, seed: dict[str, Any] | bytes, *, is_owner: bool = False, **producer: Any) -> None:
        """Send one seed as any client would; an owner signs it, for the topic of owners."""
        value = seed if isinstance(seed, bytes) else json.dumps(seed).encode()
        client = Producer({"bootstrap.servers": self.ring.servers.kafka.address, **producer})
        if is_owner:
            client.produce(SEEDS_OWNED.name, value=value, headers=owner_headers(value))
        else:
            client.produce(SEEDS_SUBMITTED.name, value=value)
        assert client.flush(60) == 0

    def send_all(self, seeds: Sequence[dict[str, Any]]) -> None:
        """Send raw seeds by one client."""
        client = Producer({"bootstrap.servers": self.ring.servers.kafka.address})
        for seed in seeds:
            client.produce(SEEDS_SUBMITTED.name, value=json.dumps(seed).encode())
        assert client.flush(60) == 0

    async def command(self, *words: str) -> str:
        """Run a command of `strider` against the pipeline, as an owner; return all that it printed."""
        kept = {name: text for name, text in os.environ.items() if not name.startswith(OWN_PREFIXES)}
        servers = self.ring.servers
        given = {
            "KAFKA_BOOTSTRAP_SERVERS": servers.kafka.address,
            "POSTGRES_DSN": servers.dsn,
            "REDIS_URL": servers.redis.address,
            "STRIDER_SHARDS": str(SHARDS),
            "STRIDER_ALLOW_PRIVATE": "true",
            **OWNER_SETTINGS,
        }
        done = await asyncio.to_thread(
            subprocess.run,
            [sys.executable, "-m", "strider.cli", *words],
            env={**kept, **given},
            cwd=self.directory,
            capture_output=True,
            timeout=END_SECONDS,
            check=False,
        )
        printed = (done.stdout + done.stderr).decode()
        assert done.returncode == 0, f"strider {' '.join(words)} ended with {done.returncode}: {printed!r}"
        return printed

    def neighbour(self, kind: str) -> Neighbour:
        """Return the owner's run, or the one that raw seeds share."""
        return next(each for each in self.neighbours if each.kind == kind)

    async def until_refused(self, url: str, *, field: str) -> str:
        """Wait until a seed is refused with a text that names its field; returns the text."""
        texts: list[str] = []

        async def is_refused() -> bool:
            rows = await self.ring.decisions_about(url)
            texts[:] = [f"{row['reason']}: {row['detail']}" for row in rows]
            return any(field in text for text in texts)

        await until(
            is_refused,
            what=f"{url[:100]} is refused because of {field}",
            tell=lambda: f"found: {texts}\n{self.ring.tell()}",
            seconds=END_SECONDS,
        )
        return texts[0]

    @asynccontextmanager
    async def unharmed_neighbours(
        self, attack: str, *, paced: Sequence[str] = ("owner", "shared")
    ) -> AsyncIterator[None]:
        """Start two runs, let an attack happen in their middle, and check that they are as without it.

        Both keep their pages and results; `paced` names those that keep their pace.
        """
        with self._served(attack) as sites:
            self._start(attack, sites)
            await until(
                lambda: all(each.is_under_way for each in self.neighbours),
                what="the neighbours are under way",
                tell=self.ring.tell,
                seconds=END_SECONDS,
            )
            await self._learn_runs()
            began = time.monotonic()
            yield
            for each in self.neighbours:
                await self._until_stored(each)
            self._check_pace(attack, began, paced=paced)
            assert [name for name, each in self.ring.services.items() if each.exit_code is not None] == []

    @contextmanager
    def _served(self, attack: str) -> Iterator[Sequence[ServedSite]]:
        name = attack.lower().replace(" ", "-")
        log = self.directory / f"{name}.log"
        owner = self.serve(71, self.shape, log=log.with_suffix(".owner"), name=f"{name}-owner")
        shared = self.serve(72, self.shape, log=log.with_suffix(".shared"), name=f"{name}-shared")
        with owner as first, shared as second:
            yield first, second

    def _start(self, attack: str, sites: Sequence[ServedSite]) -> None:
        owner, shared = sites
        job = f"owner-{attack.lower().replace(' ', '-')}"
        self.neighbours[:] = [Neighbour("owner", owner, job), Neighbour("shared", shared, "adhoc")]
        wide = {"scope": "any", "max_depth": 10}
        self.send({"url": owner.plan.seeds[0], "job_id": job, **wide}, is_owner=True)
        self.send({"url": shared.plan.seeds[0], **wide})

    async def _learn_runs(self) -> None:
        """Learn the names of the neighbours' runs, as an attacker may from any page result."""
        for each in self.neighbours:

            async def is_known(each: Neighbour = each) -> bool:
                rows = await self.ring.pages_of(each.job_id, sorted(each.site.plan.pages))
                each.run = rows[0]["execution_id"] if rows else ""
                return bool(each.run)

            await until(is_known, what=f"a page of {each.job_id}", tell=self.ring.tell, seconds=END_SECONDS)

    def run_of_another_flow(self, name: str) -> str:
        """Return a name for a raw run that shares its turns with none of the neighbours, which is rare."""
        taken = {flow_of(each.run) for each in self.neighbours}
        names = (f"{name}-{number}" for number in count())
        return next(each for each in names if flow_of(f"{RAW_PREFIX}{each}") not in taken)

    async def _until_stored(self, neighbour: Neighbour) -> None:
        missing: set[str] = set()

        async def is_stored() -> bool:
            rows = await self.ring.pages_of(neighbour.job_id, sorted(neighbour.site.plan.pages))
            missing.clear()
            missing.update(neighbour.site.plan.pages - {row["url"] for row in rows})
            return not missing

        await until(
            is_stored,
            what=f"all pages of the {neighbour.kind} run",
            tell=lambda: f"missing: {sorted(missing)[:5]} of {len(missing)}\n{self.ring.tell()}",
            seconds=END_SECONDS,
        )

    def _check_pace(self, attack: str, began: float, *, paced: Sequence[str]) -> None:
        """Compare the usual time between requests before the attack with that from its beginning on.

        The median: a busy machine delays single requests by seconds, an attack that works all of them.
        """
        texts, changed = [], {}
        for each in self.neighbours:
            quiet = median(each.intervals(0.0, began))
            during = median(each.intervals(began, time.monotonic()))
            texts.append(
                f"{each.kind}-pages={len(each.site.plan.pages)} {each.kind}-pace={quiet / during:.3f}"
            )
            if each.kind in paced and abs(during / quiet - 1) > PACE_TOLERANCE:
                changed[each.kind] = f"{quiet:.3f} s before, {during:.3f} s during the attack"
            assert set(each.site.request_counts().values()) == {1}
        record_figure(f"{attack}: {' '.join(texts)}")
        assert changed == {}, f"{attack} changed the pace of others: {changed}"
