"""State file of a crawl, from which it is resumed, and the folder of its objects.

Decides what must agree for a crawl to be resumed, and the order of writes: first the output, then the
snapshot that records its length. Objects are named by their content, so they may be written earlier.
"""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from strider.cli.arguments import file_error
from strider.contracts.generated.topics import CRAWL_SPECS, JOB_COMMANDS, JOB_EVENTS, SCHEMAS, TOPICS
from strider.messaging.inprocess import (
    ForeignFile,
    InProcessBroker,
    SnapshotError,
    SnapshotFile,
    SnapshotTaker,
)

from .output import ResultWriteFailed, ResultWriter
from .request import BadCrawlRequest, CrawlRequest
from .result_collector import ResultCollector

COMPACTED: Final = frozenset(topic.name for topic in TOPICS.values() if topic.cleanup == "compact")

TABLES: Final = frozenset({CRAWL_SPECS.name, JOB_COMMANDS.name, JOB_EVENTS.name, SCHEMAS.name})
"""Read as tables while the crawl runs; the other compacted topics only when a shard is taken over."""

_REQUEST_NOTE: Final = "wish"
"""Name of the note with the request; written with the first snapshot. A key of the state file."""


class StateWriteFailed(Exception):
    """The state file cannot be written; the message is one line."""


@dataclass(frozen=True, slots=True)
class SavedCrawl:
    """Request, output and progress in a state file."""

    request: Mapping[str, Any]
    output: str
    output_format: str
    length: int
    is_complete: bool

    def check(self, request: CrawlRequest, *, output: str, output_format: str) -> None:
        """Raise BadCrawlRequest where the file belongs to another crawl, with what differs."""
        wanted = _request_json(request)
        others = sorted(name for name in wanted if wanted[name] != self.request.get(name))
        if others:
            raise BadCrawlRequest(
                f"--resume: the state file belongs to a crawl with other {_join_names(others)}; "
                "repeat the options of that crawl, or name another file"
            )
        if (output, output_format) != (self.output, self.output_format):
            raise BadCrawlRequest(
                f"--resume: the state file belongs to the output {self.output} ({self.output_format})"
            )


class CrawlState:
    """The state file of one crawl."""

    def __init__(self, path: Path, request: CrawlRequest, *, output: str, output_format: str) -> None:
        """Open or create the file; raises BadCrawlRequest where that is impossible."""
        self.path = path
        self._request = request
        self._about = {"output": output, "form": output_format}
        self._snapshots: SnapshotTaker | None = None
        self._saving = asyncio.Lock()
        self._is_new = True
        self._failure: StateWriteFailed | None = None
        try:
            self._file = SnapshotFile(path)
        except ForeignFile as failure:
            raise BadCrawlRequest(
                f"--resume {path}: is not a state file of strider crawl, or is one of another version"
            ) from failure
        except SnapshotError as failure:
            raise BadCrawlRequest(f"--resume {failure}") from failure

    @property
    def objects_folder(self) -> Path:
        """Folder of long texts and bodies."""
        return self.path.with_name(self.path.name + ".objects")

    def load(self) -> SavedCrawl | None:
        """Return what was saved; None for a new file. Raises BadCrawlRequest for an invalid file."""
        try:
            if self._file.is_empty():
                return None
            kept = self._file.caller_state()
            request = json.loads(self._file.notes()[_REQUEST_NOTE])
            saved = SavedCrawl(
                request, kept["output"], kept["form"], int(kept["length"]), kept["complete"] == "yes"
            )
        except (SnapshotError, KeyError, ValueError) as failure:
            raise BadCrawlRequest(
                f"--resume {self.path}: not the state file of a crawl ({failure})"
            ) from failure
        self._is_new = False
        return saved

    def restore_collector(self, collector: ResultCollector) -> None:
        """Restore the collector of results."""
        collector.restore(self._file.caller_state(), self._file.notes())

    def attach(self, broker: InProcessBroker) -> None:
        """Save this broker from now on; a saved state is restored into it."""
        try:
            self.objects_folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as failure:
            raise BadCrawlRequest(file_error(self.objects_folder, failure, option="--resume")) from failure
        self._snapshots = SnapshotTaker(broker, compacted=COMPACTED)
        if not self._file.is_empty():
            try:
                self._snapshots.start_after(self._file.restore(broker))
            except SnapshotError as failure:
                raise BadCrawlRequest(f"--resume {failure}") from failure

    async def save(
        self,
        broker: InProcessBroker,
        output: ResultWriter,
        collector: ResultCollector,
        *,
        keep: frozenset[str],
        is_complete: bool = False,
    ) -> None:
        """Write one snapshot, and drop from memory what is saved, except for the topics to keep.

        A cancellation of the caller leaves no snapshot that was taken and not written.
        """
        await asyncio.shield(self._save(broker, output, collector, keep=keep, is_complete=is_complete))

    async def _save(
        self,
        broker: InProcessBroker,
        output: ResultWriter,
        collector: ResultCollector,
        *,
        keep: frozenset[str],
        is_complete: bool,
    ) -> None:
        assert self._snapshots is not None
        async with self._saving:
            if self._failure is not None:
                raise self._failure  # a snapshot was taken and not written: later ones would not continue it
            kept = {
                **self._about,
                **collector.snapshot(),
                "length": str(output.flush()),
                "complete": "yes" if is_complete else "no",
            }
            notes = collector.take_notes()
            if self._is_new:
                notes[_REQUEST_NOTE] = json.dumps(_request_json(self._request))
                self._is_new = False
            snapshot = self._snapshots.take(kept, notes=notes)
            try:
                await asyncio.to_thread(output.sync)
                await asyncio.to_thread(self._file.write, snapshot)
            except (SnapshotError, ResultWriteFailed) as failure:
                self._failure = StateWriteFailed(str(failure))
                raise self._failure from failure
            broker.trim_read(keep=keep, ends=snapshot.ends)

    def close(self, *, is_complete: bool) -> None:
        """Close the file; a complete crawl needs its objects no more."""
        self._file.close()
        if is_complete:
            shutil.rmtree(self.objects_folder, ignore_errors=True)


def _request_json(request: CrawlRequest) -> dict[str, Any]:
    """Return what must be equal for a crawl to be resumed."""
    spec = asdict(request.spec)
    values: dict[str, Any] = json.loads(json.dumps({"URLs": list(request.seeds), **spec}, sort_keys=True))
    del values["crawl_spec_id"]
    return values


def _join_names(names: list[str]) -> str:
    words = [name.replace("_", " ") for name in names]
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
