"""Where a crawl is kept, so that it goes on after an interruption: one file, and a folder beside it.

Decides what must agree for a crawl to go on, and in which order things reach the disk: first the
output, then the cut that names its length. Objects are by content, so they may always come earlier.
"""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from strider.contracts.generated.topics import CRAWL_SPECS, JOB_EVENTS, SCHEMAS, TOPICS
from strider.messaging.inprocess import InProcessBroker, SnapshotError, SnapshotFile, SnapshotTaker

from .output import Output, OutputFailed
from .sink import Sink
from .wish import BadWish, Wish

COMPACTED: Final = frozenset(topic.name for topic in TOPICS.values() if topic.cleanup == "compact")

TABLES: Final = frozenset({CRAWL_SPECS.name, JOB_EVENTS.name, SCHEMAS.name})
"""Read as tables while the crawl runs; the other compacted ones only when a shard is taken."""

_WISH: Final = "wish"
"""Name of the note that says what is crawled; written with the first cut."""


class StateFailed(Exception):
    """The state file cannot be written; the message is one line."""


@dataclass(frozen=True, slots=True)
class Saved:
    """What a state file says of its crawl."""

    wish: Mapping[str, Any]
    output: str
    form: str
    length: int
    is_complete: bool

    def check(self, wish: Wish, *, output: str, form: str) -> None:
        """Raise BadWish where the file belongs to another crawl, and say in what they differ."""
        asked = _in_json(wish)
        others = sorted(name for name in asked if asked[name] != self.wish.get(name))
        if others:
            raise BadWish(
                f"--resume: the state file belongs to a crawl with other {_and(others)}; "
                "say the same as then, or name another file"
            )
        if (output, form) != (self.output, self.form):
            raise BadWish(f"--resume: the state file belongs to the output {self.output} ({self.form})")


class State:
    """The state file of one crawl."""

    def __init__(self, path: Path, wish: Wish, *, output: str, form: str) -> None:
        """Open or make it; raises BadWish where that cannot be, or where it is another crawl's."""
        self.path = path
        self._wish = wish
        self._about = {"output": output, "form": form}
        self._taker: SnapshotTaker | None = None
        self._saving = asyncio.Lock()
        self._is_new = True
        self._failure: StateFailed | None = None
        try:
            self._file = SnapshotFile(path)
        except SnapshotError as failure:
            raise BadWish(f"--resume: {failure}") from failure

    @property
    def objects_folder(self) -> Path:
        """Where long texts and bodies are kept."""
        return self.path.with_name(self.path.name + ".objects")

    def saved(self) -> Saved | None:
        """Read what was saved; None for a new file. Raises BadWish where it is another crawl's."""
        try:
            if self._file.is_empty():
                return None
            kept = self._file.caller_state()
            wish = json.loads(self._file.notes()[_WISH])
            saved = Saved(wish, kept["output"], kept["form"], int(kept["length"]), kept["complete"] == "yes")
        except (SnapshotError, KeyError, ValueError) as failure:
            raise BadWish(f"--resume: {self.path}: not the state of a crawl ({failure})") from failure
        self._is_new = False
        return saved

    def restore_sink(self, sink: Sink) -> None:
        """Let the sink be what it was."""
        sink.restore(self._file.caller_state(), self._file.notes())

    def begin(self, broker: InProcessBroker) -> None:
        """Keep this broker from now on; where something was saved, it becomes what it was."""
        self._taker = SnapshotTaker(broker, compacted=COMPACTED)
        if not self._file.is_empty():
            try:
                self._taker.start_after(self._file.restore(broker))
            except SnapshotError as failure:
                raise BadWish(f"--resume: {failure}") from failure

    async def save(
        self,
        broker: InProcessBroker,
        output: Output,
        sink: Sink,
        *,
        keep: frozenset[str],
        is_complete: bool = False,
    ) -> None:
        """Write one cut, and let go of what need not be in memory any more, but for the topics to keep.

        Whoever is cancelled meanwhile leaves no cut behind that was taken and not written.
        """
        await asyncio.shield(self._save(broker, output, sink, keep=keep, is_complete=is_complete))

    async def _save(
        self, broker: InProcessBroker, output: Output, sink: Sink, *, keep: frozenset[str], is_complete: bool
    ) -> None:
        assert self._taker is not None
        async with self._saving:
            if self._failure is not None:
                raise self._failure  # a cut was taken and not written: what follows it is worth nothing
            kept = {
                **self._about,
                **sink.kept(),
                "length": str(output.flush()),
                "complete": "yes" if is_complete else "no",
            }
            notes = sink.notes()
            if self._is_new:
                notes[_WISH] = json.dumps(_in_json(self._wish))
                self._is_new = False
            cut = self._taker.take(kept, notes=notes)
            try:
                await asyncio.to_thread(output.sync)
                await asyncio.to_thread(self._file.write, cut)
            except (SnapshotError, OutputFailed) as failure:
                self._failure = StateFailed(str(failure))
                raise self._failure from failure
            broker.trim_read(keep=keep, ends=cut.ends)

    def close(self, *, is_complete: bool) -> None:
        """Give the file back; what only an unfinished crawl needs goes."""
        self._file.close()
        if is_complete:
            shutil.rmtree(self.objects_folder, ignore_errors=True)


def _in_json(wish: Wish) -> dict[str, Any]:
    """Say what must be the same for a crawl to be the same."""
    spec = asdict(wish.spec)
    said: dict[str, Any] = json.loads(json.dumps({"URLs": list(wish.seeds), **spec}, sort_keys=True))
    del said["crawl_spec_id"]
    return said


def _and(names: list[str]) -> str:
    words = [name.replace("_", " ") for name in names]
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
