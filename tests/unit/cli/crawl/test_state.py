"""State file of a crawl: what must agree for a resume, and what a failed write costs."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from pathlib import Path

import pytest

from strider.cli.crawl.output import JSONL, ResultWriter
from strider.cli.crawl.pipeline import end_offsets, make_broker
from strider.cli.crawl.request import BadCrawlRequest, CrawlRequest, make_request
from strider.cli.crawl.result_collector import ResultCollector
from strider.cli.crawl.results import UrlResult
from strider.cli.crawl.state import COMPACTED, TABLES, CrawlState, StateWriteFailed
from strider.contracts.generated.events import CrawlSpecDeclared
from strider.contracts.generated.topics import FRONTIER, SEEDS_SUBMITTED
from strider.messaging.inprocess import InProcessBroker
from strider.messaging.ports import OutgoingMessage, RawRecord, TopicPartition
from strider.runtime.clocks import SystemClock
from strider.storage.objects import ObjectOptions, open_object_store

from .limits import file_size_limit

WISH = make_request(["http://a.test/"], CrawlSpecDeclared(crawl_spec_id="", max_depth=3))
OUTPUT = "/somewhere/out"


class Scene:
    """A broker, an output and a collector, as a crawl has them."""

    def __init__(self, folder: Path) -> None:
        self.broker: InProcessBroker = make_broker(SystemClock(), shards=2)
        self.output = ResultWriter.create(folder / "out", JSONL)
        self.sink = ResultCollector(
            self.output, open_object_store(ObjectOptions("memory:///"), clock=SystemClock())
        )

    async def save(self, state: CrawlState, *, is_complete: bool = False) -> None:
        await state.save(self.broker, self.output, self.sink, keep=TABLES, is_complete=is_complete)


def open_state(path: Path, wish: CrawlRequest = WISH) -> CrawlState:
    return CrawlState(path, wish, output=OUTPUT, output_format=JSONL)


async def saved(folder: Path, *, is_complete: bool = False) -> Path:
    scene, state = Scene(folder), open_state(folder / "state")
    state.attach(scene.broker)
    scene.broker.append(OutgoingMessage(SEEDS_SUBMITTED.name, b"k", b"seed", 0))
    scene.broker.append_raw(TopicPartition(FRONTIER.name, 1), [RawRecord(b"entry", b"open")])
    scene.output.write(UrlResult(url="http://a.test/"))
    await scene.save(state, is_complete=is_complete)
    state.close(is_complete=is_complete)
    scene.output.close()
    return folder / "state"


async def test_a_new_state_has_nothing_saved(tmp_path: Path) -> None:
    """The first command to open the file owns it."""
    state = open_state(tmp_path / "state")

    assert state.load() is None

    state.close(is_complete=False)


async def test_what_was_saved_comes_back(tmp_path: Path) -> None:
    """Also what memory had dropped: entries that a shard is rebuilt from."""
    state = open_state(await saved(tmp_path))
    found = state.load()
    broker = make_broker(SystemClock(), shards=2)
    state.attach(broker)

    assert found is not None
    assert (found.length, found.is_complete) == ((tmp_path / "out").stat().st_size, False)
    found.check(WISH, output=OUTPUT, output_format=JSONL)
    assert end_offsets(broker, SEEDS_SUBMITTED.name)[0] == 1
    log = broker.log(TopicPartition(FRONTIER.name, 1))
    assert [(each.key, each.value) for each in log.committed_between(log.start, log.end)] == [
        (b"entry", b"open")
    ]
    state.close(is_complete=False)


@pytest.mark.parametrize(
    ("wish", "output", "form", "why"),
    [
        pytest.param(replace(WISH, seeds=("http://b.test/",)), OUTPUT, JSONL, "other URLs;", id="urls"),
        pytest.param(
            replace(WISH, spec=replace(WISH.spec, max_depth=4, scope="any")),
            OUTPUT,
            JSONL,
            "other max depth and scope;",
            id="spec",
        ),
        pytest.param(WISH, "/else/where", JSONL, f"output {OUTPUT}", id="output"),
        pytest.param(WISH, OUTPUT, "csv", "jsonl", id="form"),
    ],
)
async def test_a_state_of_another_crawl_is_refused_with_the_differences(
    tmp_path: Path, wish: CrawlRequest, output: str, form: str, why: str
) -> None:
    """A sentence with what to change."""
    state = open_state(await saved(tmp_path))
    found = state.load()
    assert found is not None

    with pytest.raises(BadCrawlRequest, match=why):
        found.check(wish, output=output, output_format=form)

    state.close(is_complete=False)


async def test_the_objects_of_a_complete_crawl_go(tmp_path: Path) -> None:
    """Only an unfinished crawl needs them."""
    folder = tmp_path / "state.objects"
    folder.mkdir()

    await saved(tmp_path)
    assert folder.exists()
    (tmp_path / "state").unlink()
    await saved(tmp_path, is_complete=True)

    assert not folder.exists()


async def test_after_a_cut_that_could_not_be_written_there_is_no_other(tmp_path: Path) -> None:
    """It would lack the lost one; the file stays as it was."""
    scene, state = Scene(tmp_path), open_state(tmp_path / "state")
    state.attach(scene.broker)
    await scene.save(state)
    scene.broker.append_raw(TopicPartition(FRONTIER.name, 1), [RawRecord(b"large", b"x" * 500_000)])

    with file_size_limit(200_000), pytest.raises(StateWriteFailed, match=r"state: "):
        await scene.save(state)
    scene.broker.trim(TopicPartition(FRONTIER.name, 1), 1)
    with pytest.raises(StateWriteFailed):
        await scene.save(state)

    state.close(is_complete=False)
    again = open_state(tmp_path / "state")
    assert again.load() is not None
    again.close(is_complete=False)


async def test_a_save_that_is_cancelled_leaves_a_consistent_state(tmp_path: Path) -> None:
    """A snapshot that was taken is written: the next one continues it."""
    scene, state = Scene(tmp_path), open_state(tmp_path / "state")
    state.attach(scene.broker)
    scene.broker.append_raw(TopicPartition(FRONTIER.name, 1), [RawRecord(b"entry", b"open")])
    saving = asyncio.create_task(scene.save(state))
    await asyncio.sleep(0)

    saving.cancel()
    await asyncio.gather(saving, return_exceptions=True)
    await scene.save(state)
    state.close(is_complete=False)

    again, broker = open_state(tmp_path / "state"), make_broker(SystemClock(), shards=2)
    assert again.load() is not None
    again.attach(broker)
    assert len(broker.log(TopicPartition(FRONTIER.name, 1)).committed_between(0, 1)) == 1
    again.close(is_complete=False)


def test_what_shards_are_rebuilt_from_is_compacted() -> None:
    """By declaration, not by a list here."""
    assert FRONTIER.name in COMPACTED - TABLES


@pytest.mark.fault("A13", part="the state of a crawl")
def test_no_other_account_can_read_the_state(tmp_path: Path) -> None:
    """It holds the crawl's headers, with cookies and tokens, and its pages."""
    before = os.umask(0)
    try:
        path = asyncio.run(saved(tmp_path))
    finally:
        os.umask(before)

    written = [each for each in tmp_path.iterdir() if each.name.startswith(path.name)]
    assert path.with_name(f"{path.name}.objects") in written
    assert {each.name: oct(each.stat().st_mode & 0o077) for each in written} == dict.fromkeys(
        (each.name for each in written), "0o0"
    )
