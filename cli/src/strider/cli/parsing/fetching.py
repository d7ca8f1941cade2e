"""Fetches one page as a crawl of one page: robots.txt, politeness, redirects and address rules hold.

Decides nothing about fetching; it listens to what the crawl's own fetcher hands to the parser.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from strider.cli.crawl_order import Asked, order_of
from strider.cli.embedded.crawl import Crawl, CrawlFailed
from strider.cli.embedded.member import Member
from strider.cli.embedded.output import JSONL, Output
from strider.cli.robots_report import ONLY_PRIVATELY
from strider.contracts.generated.enums import DecisionReason
from strider.contracts.generated.events import PageFetched
from strider.contracts.generated.topics import PAGES_FETCHED, PARSER_DLQ
from strider.messaging.effects import NO_EFFECTS, Effects, Subscription
from strider.messaging.ports import GroupSpec, Record
from strider.runtime.consumer.spec import ConsumerSpec

from .sources import BadSource

GROUP: Final = "parse"
HOST_PATIENCE_SECONDS: Final = 30


@dataclass(slots=True)
class _Ear:
    """Keeps the page that was fetched last: the one behind all redirects."""

    folder: Path
    page: PageFetched | None = None
    reads: tuple[Subscription, ...] = field(init=False)

    def __post_init__(self) -> None:
        self.reads = (Subscription(PAGES_FETCHED, batch_handler=self.hear),)

    async def hear(self, pages: Sequence[tuple[PageFetched, Record]]) -> Effects:
        self.page = pages[-1][0]
        return NO_EFFECTS

    def member(self) -> Member:
        spec = GroupSpec(GROUP, (PAGES_FETCHED.name,))
        return Member("parse", (ConsumerSpec(spec, self.reads),), PARSER_DLQ)


async def fetch(url: str, *, contact: str, allow_private: bool) -> PageFetched:
    """Fetch a page with its body in it; raises BadSource with the reason where there is none."""
    order = order_of(
        Asked(
            urls=(url,),
            max_depth=0,
            contact=contact,
            allow_private=allow_private,
            host_patience_seconds=HOST_PATIENCE_SECONDS,
        )
    )
    with tempfile.TemporaryDirectory(prefix="strider-parse-") as folder:
        ear = _Ear(Path(folder))
        lines = Path(folder) / "lines.jsonl"
        output = Output.create(lines, JSONL)
        crawl = Crawl(order.wish, order.manners, output, objects_folder=folder, listeners=(ear.member(),))
        try:
            await crawl.run()
            if ear.page is None:
                raise BadSource(_reason(lines.read_bytes(), url))
            return await _with_body(crawl, ear.page)
        except CrawlFailed as failure:
            raise BadSource(str(failure)) from failure
        finally:
            await crawl.close()
            output.close()


async def _with_body(crawl: Crawl, page: PageFetched) -> PageFetched:
    if not page.body_object:
        return page
    return replace(page, body=await crawl.objects.get(page.body_object), body_object="")


def _reason(lines: bytes, url: str) -> str:
    """Say how the last URL of the crawl ended."""
    told: list[dict[str, Any]] = [json.loads(line) for line in lines.splitlines()]
    if not told:
        return f"{url}: nothing came of it"
    last = told[-1]
    hint = f"; {ONLY_PRIVATELY}" if last["reason"] == DecisionReason.POLICY_BLOCKED else ""
    return f"{last['url']}: {last['outcome']}, {last['reason'] or 'no reason given'}{hint}"
