"""python -m tests.bench.pipeline.floor URL OUTPUT: the least cost of a page with our transport and parser.

A crawler without any promise: URLs in sets, one task a host, robots.txt requested and not read, nothing
checked, stored, published or repeated. What `strider crawl` takes beyond this is the cost of the pipeline;
what this takes itself no pipeline can save.
"""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO, Final
from urllib.parse import urlsplit

import orjson
import uvloop

from strider.contracts.generated.enums import ExtractionLevel
from strider.fetcher.adapters.http.timeline import RequestTimeline
from strider.fetcher.core import decode_head
from strider.parser.adapters.page_reader import make_reader
from strider.parser.core import ParseLimits
from tests.integration.fetcher.http.runner import RunnerHarness, running_client
from tests.unit.parser.pages import a_page

AT_ONCE: Final = 100
NEW_OBJECTS_TO_COLLECT: Final = 50_000
READ: Final = make_reader(ParseLimits(extraction=ExtractionLevel.BASIC))


class Floor:
    """All that this crawler knows."""

    def __init__(self, asker: RunnerHarness, output: BinaryIO) -> None:
        self._asker = asker
        self._output = output
        self._seen: set[str] = set()
        self._waiting: dict[str, list[str]] = {}
        self._places = asyncio.Semaphore(AT_ONCE)

    async def crawl(self, url: str) -> None:
        """Follow every link from there on."""
        async with asyncio.TaskGroup() as group:
            self._meet((url,), group)

    def _meet(self, urls: Iterable[str], group: asyncio.TaskGroup) -> None:
        for url in urls:
            if url in self._seen:
                continue
            self._seen.add(url)
            host = urlsplit(url).netloc
            if host in self._waiting:
                self._waiting[host].append(url)
                continue
            self._waiting[host] = [url]
            group.create_task(self._visit(host, group))

    async def _visit(self, host: str, group: asyncio.TaskGroup) -> None:
        waiting = self._waiting[host]
        async with self._places:
            await self._ask(f"http://{host}/robots.txt")
            while waiting:
                url = waiting.pop()
                body, encoding = await self._ask(url)
                page = READ(a_page(body, url=url, content_encoding=encoding), body)
                line = {"url": url, "title": page.title, "text": page.text, "links": page.link_urls}
                self._output.write(orjson.dumps(line) + b"\n")
                self._meet(page.link_urls, group)
        del self._waiting[host]

    async def _ask(self, url: str) -> tuple[bytes, str]:
        timeline = RequestTimeline(asyncio.get_running_loop().time)
        response = await self._asker.connector.send(url, [], timeline=timeline)
        content = b"".join([part async for part in response.body])
        response.body.close(is_whole=True)
        head = decode_head(response.status, response.raw_headers)
        return content, head.get("content-encoding")


async def _crawl(url: str, output: Path) -> None:
    gc.freeze()
    gc.set_threshold(NEW_OBJECTS_TO_COLLECT)
    async with running_client() as asker:
        with output.open("wb") as lines:
            await Floor(asker, lines).crawl(url)


if __name__ == "__main__":
    uvloop.run(_crawl(sys.argv[1], Path(sys.argv[2])))
