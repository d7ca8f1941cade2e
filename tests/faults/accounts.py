"""What became of the requests, and whether the ledger adds up: judged from the logs alone. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from strider.contracts.generated.enums import EchoOutcome
from strider.contracts.generated.events import Echoed, TallyKept

from .load import Place


@dataclass(frozen=True, slots=True)
class Blow:
    """One kill: what was committed then, where the log ended, and when (seconds since 1970)."""

    committed: Mapping[int, int]
    ends: Mapping[int, int]
    at: float

    def explains(self, place: Place) -> bool:
        """Whether this kill may have caused the request there to be answered again."""
        return self.committed[place.partition] <= place.offset < self.ends[place.partition]


@dataclass(frozen=True, slots=True)
class Answers:
    """What became of what was sent."""

    sent: int
    answered: int
    repeated: int
    """Echoes that came on top of the first one."""
    unexplained: int
    """Of those, the ones that no blow explains."""
    oldest_repeat_seconds: float
    """How long before the blow the oldest message had been answered that was then answered again."""
    longest_gap_seconds: float
    """Longest time without any echo."""

    @property
    def lost(self) -> int:
        return self.sent - self.answered


def account(
    sent: Mapping[str, Place],
    echoes: Sequence[tuple[Any, Echoed]],
    *,
    blows: Sequence[Blow] = (),
) -> Answers:
    """Account for requests by the echoes (record and event) that were read after they were sent."""
    answered: dict[str, list[int]] = defaultdict(list)
    for record, echoed in echoes:
        if echoed.request_id in sent:
            answered[echoed.request_id].append(record.timestamp)
    repeated, unexplained, oldest = 0, 0, 0.0
    for name, times in answered.items():
        again = len(times) - 1
        explaining = [blow for blow in blows if blow.explains(sent[name])]
        repeated += again
        unexplained += max(0, again - len(explaining))
        if again and explaining:
            oldest = max(oldest, explaining[0].at - min(times) / 1000)
    moments = sorted(moment for times in answered.values() for moment in times)
    gap = max((later - earlier for earlier, later in pairwise(moments)), default=0) / 1000
    return Answers(len(sent), len(answered), repeated, unexplained, round(oldest, 2), round(gap, 2))


@dataclass(frozen=True, slots=True)
class Audit:
    """Whether every tally ever kept is what the echoes say, and the last ones say all of it."""

    kept: int
    said_again: int
    """Tallies that came a second time, word for word, right after the first."""
    wrong: tuple[str, ...]
    counted: Mapping[str, tuple[int, int]]
    """By host, in the last tally: echoed and refused."""
    expected: Mapping[str, tuple[int, int]]


def audit(
    echoes: Iterable[tuple[Any, Echoed]],
    tallies: Iterable[tuple[Any, TallyKept]],
    *,
    may_say_again: bool = False,
) -> Audit:
    """Check the ledger against its source, record by record.

    A tally names the offset up to which it counts: its counts must be those of exactly that prefix,
    and the offsets of a host must rise. A writer that was not alone, one that repeated, and one that
    forgot would each break that. `may_say_again`: a broker that dies in the middle of a commit leaves
    its writer without the outcome, and the same words are said once more; anything else stays wrong.
    """
    prefixes: dict[str, dict[int, tuple[int, int]]] = defaultdict(dict)
    totals: Counter[tuple[str, bool]] = Counter()
    for record, echoed in sorted(echoes, key=lambda pair: pair[0].offset):
        totals[echoed.host, echoed.outcome == EchoOutcome.ECHOED] += 1
        prefixes[echoed.host][record.offset] = (totals[echoed.host, True], totals[echoed.host, False])
    last: dict[str, TallyKept] = {}
    wrong: list[str] = []
    kept = said_again = 0
    for record, tally in tallies:
        kept += 1
        expected = prefixes[tally.host].get(tally.counted_offset)
        before = last.get(tally.host)
        if expected != (tally.count, tally.refused):
            wrong.append(f"{tally} at {record.offset}: the echoes say {expected}")
        is_same = tally == before
        said_again += is_same
        if (
            before is not None
            and tally.counted_offset <= before.counted_offset
            and not (is_same and may_say_again)
        ):
            wrong.append(f"{tally} at {record.offset} comes after {before}")
        last[tally.host] = tally
    return Audit(
        kept,
        said_again,
        tuple(wrong),
        counted={host: (tally.count, tally.refused) for host, tally in last.items()},
        expected={host: (totals[host, True], totals[host, False]) for host in prefixes},
    )
