"""Events become records: each URL once, whatever the number and order of its events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from strider.cli.crawl.output import JSONL, ResultWriteFailed, ResultWriter
from strider.cli.crawl.result_collector import LISTED_REFUSALS, ResultCollector
from strider.cli.crawl.results import EXTRA_FIELDS
from strider.contracts.generated.events import (
    FetchCompleted,
    PageParsed,
    PageRejected,
    PageValidated,
    UrlsDecided,
    Verdict,
)
from strider.contracts.generated.topics import (
    FETCHES_COMPLETED,
    PAGES_REJECTED,
    PAGES_VALIDATED,
    URLS_DECIDED,
)
from strider.messaging.errors import Unavailable
from strider.messaging.inprocess.log import StoredRecord
from strider.runtime.clocks import SystemClock
from strider.storage.objects import ObjectOptions, open_object_store
from strider.urls import url_hash, url_key_of

A, B, C = "http://a.test/", "http://a.test/b", "http://a.test/c"


def key(url: str) -> str:
    return url_hash(url_key_of(url))


def record(topic: Any, offset: int) -> StoredRecord:
    return StoredRecord(topic.name, 0, offset, 0, None, b"", ())


def page(url: str, **fields: Any) -> PageValidated:
    parsed = PageParsed(
        url=url,
        url_key=key(url),
        origin="http://a.test",
        group="a.test",
        job_id="crawl",
        execution_id="e",
        crawl_spec_id="s",
        fetch_sequence=1,
        outcome="parsed",
        parser="html",
        parser_version="1",
        fetched_at_ms=1_700_000_000_000,
        **{"status": 200, "text": "words", "total_us": 2_500, **fields},
    )
    return PageValidated(parsed, Verdict("valid", "1", 0))


def rejected(url: str, **fields: Any) -> PageRejected:
    named = ("rejected", "soft_not_found", "quality", "validator", 0)
    return PageRejected(key(url), "a.test", "crawl", "e", 1, *named, url=url, **fields)


def completed(url: str, **fields: Any) -> FetchCompleted:
    named = ("crawl", "e", "s", 1, "lease", 1, "gone", 0)
    return FetchCompleted(url, key(url), "http://a.test", "a.test", *named, **fields)


def decided(*what: tuple[str, str, str], page_url: str = "", not_listed: int = 0) -> UrlsDecided:
    urls, decisions, reasons = zip(*what, strict=True) if what else ((), (), ())
    keys = tuple(key(url) if "://" in url else "" for url in urls)
    return UrlsDecided(
        "k", "scheduler", 0, urls, keys, decisions, reasons, page_url=page_url, not_listed=not_listed
    )


class Scene:
    """A collector, and the file that it writes."""

    def __init__(self, path: Path, *, only_pages: bool = False, extraction: str = "basic") -> None:
        self.path = path
        self.output = ResultWriter.create(path, JSONL, EXTRA_FIELDS[extraction])
        self._only_pages = only_pages
        self._objects = open_object_store(ObjectOptions("memory:///"), clock=SystemClock())
        self.sink = ResultCollector(self.output, self._objects, only_pages=only_pages, extraction=extraction)
        self._offset = 0

    async def hear(self, *events: Any, at: int | None = None) -> None:
        for event in events:
            offset = self._offset if at is None else at
            self._offset = max(self._offset, offset + 1)
            if isinstance(event, PageValidated):
                await self.sink.on_validated([(event, record(PAGES_VALIDATED, offset))])
            elif isinstance(event, FetchCompleted):
                await self.sink.on_fetched([(event, record(FETCHES_COMPLETED, offset))])
            elif isinstance(event, PageRejected):
                await self.sink.on_rejected([(event, record(PAGES_REJECTED, offset))])
            else:
                await self.sink.on_decided([(event, record(URLS_DECIDED, offset))])

    def lines(self, *names: str) -> Sequence[tuple[Any, ...]]:
        self.output.flush()
        read = map(json.loads, self.path.read_text().splitlines())
        return [tuple(line[name] for name in names or ("url", "outcome", "reason")) for line in read]

    async def put(self, content: bytes) -> str:
        return await self._objects.put(content)

    def resumed(self) -> Scene:
        """Return what a new process restores from the saved state."""
        kept, notes, length = self.sink.snapshot(), self.sink.take_notes(), self.output.flush()
        self.output.close()
        again = Scene.__new__(Scene)
        again.path, again._offset, again._objects = self.path, self._offset, self._objects
        again.output = ResultWriter.resume(self.path, JSONL, length)
        again.sink = ResultCollector(again.output, self._objects, only_pages=self._only_pages)
        again.sink.restore(kept, notes)
        for line in self.path.read_text().splitlines():
            again.sink.add_written(json.loads(line))
        return again


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path / "out")


async def test_each_way_to_end_is_a_line(scene: Scene) -> None:
    """Valid, rejected, redirected, failed, refused."""
    await scene.hear(
        page(A),
        rejected(B),
        decided((C, "closed", "redirected")),
        decided(("http://a.test/d", "closed", "not_found")),
        decided(("http://a.test/e", "closed", "robots_denied")),
        decided(("no url", "refused", "bad_url")),
    )

    assert scene.lines() == [
        (A, "page", ""),
        (B, "rejected", "soft_not_found"),
        (C, "redirected", "redirected"),
        ("http://a.test/d", "failed", "not_found"),
        ("http://a.test/e", "refused", "robots_denied"),
        ("no url", "refused", "bad_url"),
    ]
    assert scene.sink.counters.urls == 6


async def test_a_repeated_event_is_one_line(scene: Scene) -> None:
    """Delivered again, or published again by a service that was interrupted."""
    await scene.hear(page(A), at=0)
    await scene.hear(page(A), at=0)
    await scene.hear(page(A), at=1)
    await scene.hear(decided((A, "closed", "not_found")))

    assert scene.lines() == [(A, "page", "")]
    assert scene.sink.counters.pages == 1


async def test_a_url_that_is_requested_twice_has_the_line_of_its_page(scene: Scene) -> None:
    await scene.hear(decided((A, "refused", "already_seen")), page(A))
    scene.sink.write_refused()

    assert scene.lines() == [(A, "page", "")]


async def test_a_refused_link_waits_because_it_may_come_by_another_way(scene: Scene) -> None:
    """Only URLs that were fetched no other way get a record, once, at the end."""
    await scene.hear(
        decided((B, "refused", "too_deep"), (C, "refused", "out_of_scope"), page_url=A),
        decided((C, "refused", "out_of_scope"), page_url=B),
        page(B),
    )
    assert scene.lines() == [(B, "page", "")]

    scene.sink.write_refused()

    assert scene.lines() == [(B, "page", ""), (C, "refused", "out_of_scope")]


async def test_more_refused_links_than_are_listed_are_counted(scene: Scene, monkeypatch: Any) -> None:
    """Memory is bounded; further links are counted."""
    monkeypatch.setattr("strider.cli.crawl.result_collector.LISTED_REFUSALS", 1)
    links = [(B, "refused", "too_deep"), (C, "refused", "too_deep")]

    await scene.hear(decided(*links, page_url=A, not_listed=5))

    assert (scene.sink.counters.unlisted, LISTED_REFUSALS) == (6, 100_000)


async def test_only_pages_are_written_with_that_option(tmp_path: Path) -> None:
    """The others are counted."""
    scene = Scene(tmp_path / "out", only_pages=True)

    await scene.hear(page(A), rejected(B))

    assert scene.lines() == [(A, "page", "")]
    assert scene.sink.counters.urls == 2


@pytest.mark.parametrize("only_pages", [False, True])
async def test_a_resumed_collector_continues_as_if_never_stopped(
    tmp_path: Path, only_pages: bool
) -> None:  # a case
    """Redelivered messages are ignored; counters and waiting links are restored."""
    scene = Scene(tmp_path / "out", only_pages=only_pages)
    links = decided((C, "refused", "too_deep"), ("javascript:", "refused", "bad_url"), page_url=A)
    await scene.hear(page(A), rejected(B), links)

    again = scene.resumed()
    await again.hear(page(A), at=0)
    await again.hear(page(A), rejected(B), links)
    again.sink.write_refused()

    expected = [(A, "page", "")]
    if not only_pages:
        expected += [(B, "rejected", "soft_not_found"), (C, "refused", "too_deep")]
        expected += [("javascript:", "refused", "bad_url")]
    assert again.lines() == expected
    assert again.sink.counters.outcomes == {"page": 1, "rejected": 1, "refused": 2}
    assert {name: host.pages for name, host in again.sink.counters.hosts.items()} == {"a.test": 1}


async def test_a_long_text_comes_from_the_store(scene: Scene) -> None:
    """A page whose stored text is missing is still a page."""
    reference = await scene.put(json.dumps({"text": "very long"}).encode())
    missing = f"{reference[:-4]}0000"

    await scene.hear(page(A, text="", texts_object=reference), page(B, text="", texts_object=missing))
    scene.output.flush()

    assert [json.loads(line)["text"] for line in scene.path.read_text().splitlines()] == ["very long", ""]


async def test_an_output_that_fails_ends_the_crawl_and_gives_no_page_up(tmp_path: Path) -> None:
    """The message stays uncommitted; the runner is notified once."""
    path = Path("/dev/full")
    output = ResultWriter.create(path, JSONL)
    sink = ResultCollector(output, open_object_store(ObjectOptions("memory:///"), clock=SystemClock()))
    sink.failed = asyncio.get_running_loop().create_future()
    large = page(A, text="x" * 300_000)

    with pytest.raises(Unavailable, match="/dev/full: No space left"):
        await sink.on_validated([(large, record(PAGES_VALIDATED, 0))])

    with pytest.raises(ResultWriteFailed, match="No space left"):
        await sink.failed
    output.close()


async def test_further_fields_come_from_the_page_and_from_texts_that_were_too_long(tmp_path: Path) -> None:
    """A refused link has them too, empty, also after it has waited."""
    scene = Scene(tmp_path / "out", extraction="main")
    long = await scene.put(json.dumps({"text": "all of it", "main_text": "the main of it"}).encode())
    lines_found = {"author": "Ada", "language": "en", "page_kind": "article", "word_count": 3}

    await scene.hear(
        page(A, text="seen", main_text="main", next_url=B, **lines_found),
        page(C, text="", texts_object=long),
        decided((B, "refused", "out_of_scope"), page_url=A),
    )
    scene.sink.write_refused()
    scene.output.flush()

    lines = [json.loads(line) for line in scene.path.read_text().splitlines()]
    names = ("text", "main_text", "author", "language", "kind", "word_count")
    assert [tuple(line[name] for name in names) for line in lines] == [
        ("seen", "main", "Ada", "en", "article", 3),
        ("all of it", "the main of it", "", "", "other", 0),
        ("", "", "", "", "", 0),
    ]
    assert lines[0]["pagination"]["next"] == B
    assert "products" not in lines[0]


TOLD = ("url", "duration_ms", "content_type", "length", "referrer")
ANSWER = {"total_us": 12_340, "content_type": "text/html", "body_bytes": 77}


def not_found(url: str) -> UrlsDecided:
    return replace(decided((url, "closed", "not_found")), statuses=(404,))


@pytest.mark.parametrize("is_late", [False, True])
async def test_a_line_without_a_page_has_its_response_in_either_order(scene: Scene, is_late: bool) -> None:
    """Topics keep no order among each other; a redirect target was found by the redirect."""
    lines_found = [
        (completed(A, **ANSWER), rejected(A, status=200, content_type="text/plain", body_bytes=5)),
        (completed(B, **ANSWER, redirect_chain=(C, A)), not_found(B)),
    ]
    for answer, ending in lines_found:
        await scene.hear(*((ending, answer) if is_late else (answer, ending)))

    assert scene.lines(*TOLD) == [(A, 12.3, "text/plain", 5, ""), (B, 12.3, "text/html", 77, A)]
    assert scene.sink.counters.urls == 2


async def test_a_request_without_a_response_has_a_duration_and_robots_is_no_page(scene: Scene) -> None:
    """No response is expected for a URL without a status; a page at the URL of robots.txt is a page."""
    await scene.hear(completed(A, total_us=30_000_000), decided((A, "closed", "retries_exhausted")))
    await scene.hear(completed(B, kind="robots", **ANSWER), decided((B, "closed", "host_unavailable")))

    assert scene.lines(*TOLD) == [(A, 30_000.0, "", 0, ""), (B, 0.0, "", 0, "")]


async def test_a_line_has_the_detail_of_its_decision(scene: Scene) -> None:
    """Also after a restart of the crawl, where the line of a refused link is written at the end."""
    closed = decided((A, "closed", "robots_unreachable"), (B, "closed", "not_found"))
    link = decided((C, "refused", "excluded"), page_url=A)
    await scene.hear(replace(closed, details=("robots.txt of http://a.test: status 503", "")))
    await scene.hear(replace(link, details=("/private",)))

    again = scene.resumed()
    again.sink.write_refused()

    assert again.lines("url", "detail") == [
        (A, "robots.txt of http://a.test: status 503"),
        (B, ""),
        (C, "/private"),
    ]


async def test_pages_name_their_redirect_and_leave_no_response_behind(scene: Scene) -> None:
    """In either order of response and event."""
    await scene.hear(completed(A, **ANSWER), page(A), page(B, redirect_chain=(A,)), completed(B, **ANSWER))

    assert scene.lines("url", "referrer") == [(A, ""), (B, A)]
    assert json.loads(scene.sink.snapshot()["answers"]) == {"heard": {}, "late": {}}


async def test_pages_without_an_outcome_are_kept_and_written_at_the_end(scene: Scene) -> None:
    """Saved with the crawl; without a response they are written at the end."""
    await scene.hear(completed(A, **ANSWER), not_found(B), not_found(C))

    again = scene.resumed()
    await again.hear(not_found(A), completed(B, **ANSWER), page(C))
    again.sink.write_pending()

    assert again.lines("url", "status", "duration_ms") == [(A, 404, 12.3), (B, 404, 12.3), (C, 404, 0.0)]
