"""Fetch one page as a crawl of one page, with robots.txt, politeness and address rules.

Decides nothing about fetching; consumes what the crawl's own fetcher publishes for the parser.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from strider.cli.crawl.options import CrawlOptions, plan_crawl
from strider.cli.crawl.output import JSONL, ResultWriter
from strider.cli.crawl.pipeline import PipelineService
from strider.cli.crawl.runner import CrawlFailed, CrawlRunner
from strider.cli.explain.facts import reason_text
from strider.cli.fetch.robots_client import PRIVATE_ADDRESS_HINT
from strider.contracts.generated.enums import DecisionReason
from strider.contracts.generated.events import PageFetched
from strider.contracts.generated.topics import PAGES_FETCHED, PARSER_DLQ
from strider.messaging.effects import NO_EFFECTS, Effects, Subscription
from strider.messaging.ports import GroupSpec, Record
from strider.runtime.consumer.spec import ConsumerSpec

from .page_sources import BadPageSource

GROUP: Final = "parse"
HOST_PATIENCE_SECONDS: Final = 30


@dataclass(slots=True)
class _PageListener:
    """Keeps the page that was fetched last: the target of all redirects."""

    folder: Path
    page: PageFetched | None = None
    reads: tuple[Subscription, ...] = field(init=False)

    def __post_init__(self) -> None:
        self.reads = (Subscription(PAGES_FETCHED, batch_handler=self.on_page),)

    async def on_page(self, pages: Sequence[tuple[PageFetched, Record]]) -> Effects:
        self.page = pages[-1][0]
        return NO_EFFECTS

    def service(self) -> PipelineService:
        spec = GroupSpec(GROUP, (PAGES_FETCHED.name,))
        return PipelineService("parse", (ConsumerSpec(spec, self.reads),), PARSER_DLQ)


async def fetch_page(url: str, *, contact: str, allow_private: bool) -> PageFetched:
    """Fetch a page with its body; raises BadPageSource with the reason where there is none."""
    plan = plan_crawl(
        CrawlOptions(
            urls=(url,),
            max_depth=0,
            contact=contact,
            allow_private=allow_private,
            host_patience_seconds=HOST_PATIENCE_SECONDS,
        )
    )
    with tempfile.TemporaryDirectory(prefix="strider-parse-") as folder:
        listener = _PageListener(Path(folder))
        lines = Path(folder) / "lines.jsonl"
        output = ResultWriter.create(lines, JSONL)
        crawl = CrawlRunner(
            plan.request, plan.config, output, objects_folder=folder, listeners=(listener.service(),)
        )
        try:
            await crawl.run()
            if listener.page is None:
                raise BadPageSource(_failure_text(lines.read_bytes(), url))
            return await _with_body(crawl, listener.page)
        except CrawlFailed as failure:
            raise BadPageSource(str(failure)) from failure
        finally:
            await crawl.close()
            output.close()


async def _with_body(crawl: CrawlRunner, page: PageFetched) -> PageFetched:
    if not page.body_object:
        return page
    return replace(page, body=await crawl.objects.get(page.body_object), body_object="")


def _failure_text(lines: bytes, url: str) -> str:
    """Return the outcome of the last URL of the crawl."""
    results: list[dict[str, Any]] = [json.loads(line) for line in lines.splitlines()]
    if not results:
        return f"{url}: no result"
    last = results[-1]
    hint = f"; {PRIVATE_ADDRESS_HINT}" if last["reason"] == DecisionReason.POLICY_BLOCKED else ""
    reason = last["reason"] or "unknown"
    meaning = f": {text.rstrip('.')}" if (text := reason_text(reason)) else ""
    return f"{last['url']} was not fetched ({reason}){meaning}{hint}"
