"""What a page costs: Scrapy, Colly, `strider crawl` and the whole pipeline on one generated site.

All run in turn on the same cores, some rounds of each, one request at a time to a host and no delay. Each
round has a site of its own, so that no crawler has state of it. Medians of the rounds; ratios say more than
figures.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from strider.testing.site import ServedSite, SiteShape, serve_site
from strider.testing.temp_dirs import temp_server_directory
from tests.bench.measure import Row
from tests.e2e.pipeline import Servers

from .rivals import FLOOR, Crawler, Missing, Run, colly, floor, scrapy, strider_crawl
from .services import Pipeline

LONG: Final = SiteShape(
    hosts=1_000, pages_per_host=4, children=3, is_plain=True, filler_bytes=24_000, cross_links=70
)
SHORT: Final = replace(LONG, hosts=500)
"""Enough pages that starting is a small part of a run, ours and theirs."""
WARM_UP: Final = replace(LONG, hosts=30)
BROKER_WARM_UP: Final = replace(LONG, hosts=500)
"""Of the pipeline alone: until it has carried some ten thousand messages, compiling its hot code is half of
what the broker's Java machine does."""
SCRAPY_PAGES: Final = 800
"""It is not asked for the whole site: its speed does not depend on it, and patience has an end."""
CRAWL_BAR, PIPELINE_BAR, CPU_BAR = 10.0, 8.0, 10.0
PIPELINE: Final = "whole pipeline without insights"


@dataclass(slots=True)
class Notes:
    """All runs, by who ran."""

    runs: dict[str, list[Run]]
    cpu: list[Mapping[str, float]]
    missing: dict[str, str]
    start: Mapping[str, float] = field(default_factory=dict)
    """CPU seconds of each service until it was ready, which no row of a page contains."""

    def rate(self, name: str) -> float:
        """Pages a second."""
        return statistics.median(run.pages_per_second for run in self.runs[name])

    def cpu_ms(self, name: str) -> float:
        """Milliseconds of CPU a page."""
        return statistics.median(run.cpu_ms_per_page for run in self.runs[name])


def measure(*, rounds: int, short: bool) -> list[Row]:
    """All rows of this file."""
    shape = SHORT if short else LONG
    notes = Notes(defaultdict(list), [], {})
    crawlers: list[Crawler] = [strider_crawl(), floor()]
    for name, found in (("Scrapy", scrapy()), ("Colly", colly())):
        if isinstance(found, Missing):
            notes.missing[name] = found.why
        else:
            crawlers.append(found)
    with temp_server_directory() as place:
        servers = Servers.start(place, counts_statements=False, starts_fast=False)
        (place / "run").mkdir()
        pipeline = Pipeline(servers, place / "run")
        try:
            notes.start = pipeline.start()
            _warm_up(pipeline, crawlers, place)
            for number in range(rounds):
                _round(notes, crawlers, pipeline, shape=shape, number=number, place=place)
        finally:
            pipeline.close()
            servers.close()
    return _rows(notes, shape)


def _warm_up(pipeline: Pipeline, crawlers: list[Crawler], place: Path) -> None:
    """Let compilers and caches have what every later round finds warm."""
    with serve_site(0, WARM_UP, own_addresses=True) as site:
        for crawler in crawlers:
            crawler.run(site.plan.seeds[0], place / "pages.jsonl", pages=len(site.plan.pages))
    with serve_site(0, BROKER_WARM_UP, own_addresses=True) as site:
        pipeline.crawl(site, "warm-up")


def _round(
    notes: Notes, crawlers: list[Crawler], pipeline: Pipeline, *, shape: SiteShape, number: int, place: Path
) -> None:
    with serve_site(number + 1, shape, own_addresses=True) as site:
        for crawler in crawlers:
            notes.runs[crawler.name].append(_run(crawler, site, place))
        run, cpu = pipeline.crawl(site, f"round-{number}")
        notes.runs[PIPELINE].append(run)
        notes.cpu.append({name: seconds * 1000 / run.pages for name, seconds in cpu.items()})


def _run(crawler: Crawler, site: ServedSite, place: Path) -> Run:
    run = crawler.run(site.plan.seeds[0], place / "pages.jsonl", pages=SCRAPY_PAGES)
    if crawler.name != "Scrapy" and run.pages < len(site.plan.pages):
        raise RuntimeError(f"{crawler.name} found {run.pages} of {len(site.plan.pages)} pages")
    return run


def _rows(notes: Notes, shape: SiteShape) -> list[Row]:
    site = f"{shape.hosts} hosts, {shape.hosts * shape.pages_per_host} pages"
    names = [name for name in ("Scrapy", "Colly", FLOOR, "strider crawl", PIPELINE) if name in notes.runs]
    rows = [Row(f"{name}: speed", notes.rate(name), "pages/s", None, detail=site) for name in names]
    rows += [Row(f"{name}: CPU", notes.cpu_ms(name), "ms/page", None) for name in names]
    rows += [Row(f"{name}: {why}", 0.0, "pages/s", None) for name, why in notes.missing.items()]
    rows += [
        Row(f"… of it {name}", statistics.median(cpu[name] for cpu in notes.cpu), "ms/page", None)
        for name in notes.cpu[0]
    ]
    rows += [
        Row(f"start of {name}, until it is ready: CPU", seconds, "s", None)
        for name, seconds in notes.start.items()
    ]
    return rows + _ratios(notes)


def _ratios(notes: Notes) -> list[Row]:
    rows = []
    for rival in ("Scrapy", "Colly"):
        if rival not in notes.runs:
            continue
        bars = (CRAWL_BAR, PIPELINE_BAR, CPU_BAR) if rival == "Scrapy" else (None, None, None)
        per_cpu = notes.cpu_ms(rival) / notes.cpu_ms("strider crawl")
        speed = notes.rate(PIPELINE) / notes.rate(rival)
        own = notes.cpu_ms(rival) / notes.cpu_ms(PIPELINE)
        said = (f"strider crawl, per CPU second, × {rival}", f"whole pipeline, speed, × {rival} on a core")
        least = notes.cpu_ms(rival) / notes.cpu_ms(FLOOR)
        rows += [
            Row(f"{FLOOR}, per CPU second, × {rival}", least, "×", None),
            Row(said[0], per_cpu, "×", bars[0], more_is_better=True),
            Row(said[1], speed, "×", bars[1], more_is_better=True),
            Row(
                f"own services of the pipeline, per CPU second, × {rival}",
                own,
                "×",
                bars[2],
                more_is_better=True,
            ),
        ]
    return rows
