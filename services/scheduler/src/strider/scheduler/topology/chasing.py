"""Pages that cannot come back -> asked for once more, closed -> frontier, urls-decided.

One loop for all shards in hand. While pages are on their way it follows them round (`core.watermarks`);
where that has come to its end, what is still waited for was swallowed: a message that was given up, or
was thrown away by retention before anybody read it. Its place, and its run, would wait for ever.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from strider.contracts.generated.events import EntryRecorded
from strider.contracts.generated.topics import URLS_DECIDED
from strider.frontier.models import EntryLocation
from strider.messaging.effects import Publish
from strider.messaging.errors import ShardFenced, Unavailable
from strider.messaging.ports import Clock
from strider.runtime.observability.logging import logger
from strider.scheduler.core import Line, messages
from strider.scheduler.core.outcomes import lasting
from strider.scheduler.core.watermarks import Passage, lost

from .concluding import DEFAULT_SPEC
from .noting import note_lines
from .ports import Meter, Soundings, Specs, Voice
from .shard import Decided, Shard
from .tellings import question_of

LOOKED_AT: Final = 2_000
"""Open entries of one call."""

WORKING_PART: Final = 10
"""Of the time, at most one part in so many is spent on looking."""

_log = logger("scheduler")


class Chasing:
    """Follows what is on the ring of each shard in hand."""

    def __init__(
        self,
        soundings: Soundings,
        *,
        in_hand: Callable[[], Iterable[Shard]],
        specs: Specs,
        voice: Voice,
        meter: Meter,
        clock: Clock,
        look_seconds: float,
    ) -> None:
        self._soundings = soundings
        self._in_hand = in_hand
        self._specs = specs
        self._voice = voice
        self._meter = meter
        self._clock = clock
        self._look_seconds = look_seconds
        self._passages: dict[int, tuple[Shard, Passage]] = {}

    async def run(self) -> None:
        """Look again and again. Runs for ever."""
        wait_seconds = self._look_seconds
        while True:
            await self._clock.sleep(wait_seconds)
            began = self._clock.monotonic()
            try:
                await self.look()
            except Unavailable as failure:
                _log.warning("Chase Waits", why=str(failure))
            took_seconds = self._clock.monotonic() - began
            wait_seconds = max(self._look_seconds, took_seconds * (WORKING_PART - 1))

    async def look(self) -> None:
        """Go on with the passage of each shard that has pages on their way; end those that are over."""
        waiting = [shard for shard in self._in_hand() if _is_waiting(shard)]
        before = {shard.number: self._passage(shard) for shard in waiting}
        self._passages = {}
        if not waiting:
            return
        sounding = await self._soundings.sound()
        for shard in waiting:
            passage = before[shard.number].after(sounding)
            if not passage.is_over:
                self._passages[shard.number] = shard, passage
                continue
            try:
                await self._end(shard, passage)
            except ShardFenced:
                _log.warning("Chase Ends", shard=shard.number, why="the shard has a newer owner")

    def _passage(self, shard: Shard) -> Passage:
        """Give the passage under way; one of an owner before proves nothing to this one."""
        owner, passage = self._passages.get(shard.number, (None, None))
        if passage is None or owner is not shard:
            return Passage(shard.number, shard.time.now_ms())
        return passage

    async def _end(self, shard: Shard, passage: Passage) -> None:
        cursor, is_first = 0, True
        while cursor or is_first:
            scan = await shard.scan(cursor=cursor, limit=LOOKED_AT, place=EntryLocation.PIPELINE)
            suspects = {
                (entry.job_id, entry.url_key): entry for entry, _ in scan.entries if passage.is_lost(entry)
            }
            await self._give_back(shard, list(suspects.values()))
            cursor, is_first = scan.cursor, False

    async def _give_back(self, shard: Shard, suspects: Sequence[EntryRecorded]) -> None:
        if not suspects:
            return
        specs = await self._specs.known({entry.crawl_spec_id for entry in suspects})
        known = await shard.look([question_of(entry.job_id, entry.url_key, "") for entry in suspects])
        now_ms = shard.time.now_ms()
        lines: list[Line] = []
        decided: list[Decided] = []
        for suspect, past in zip(suspects, known, strict=True):
            cause = f"lost {suspect.fetch_sequence}"
            entry = shard.current(past, cause)
            if entry is None or not _is_same(entry, suspect) or shard.is_deciding(entry, besides=cause):
                continue
            spec = specs.get(entry.crawl_spec_id, DEFAULT_SPEC)
            ended = lasting(entry, lost(entry, now_ms=now_ms), spec, now_ms=now_ms)
            lines += ended.lines
            self._meter.decided(ended.word)
            if ended.entry is not None:
                decided.append(shard.decide(ended.entry, before=entry, cause=cause))
        _log.warning("Pages Lost", shard=shard.number, pages=len(decided))
        if lines:
            said = [Publish(URLS_DECIDED, event) for event in messages(lines, now_ms=now_ms)]
            await self._voice.publish(said)
            note_lines(self._meter, lines)
        await shard.settle(decided, at_once=True)


def _is_waiting(shard: Shard) -> bool:
    return shard.is_ready and shard.counted is not None and shard.counted.in_pipeline > 0


def _is_same(entry: EntryRecorded, suspect: EntryRecorded) -> bool:
    return (entry.state, entry.fetch_sequence) == (suspect.state, suspect.fetch_sequence)
