"""What a crawl came to, for people and for programs. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Final

from .lines import OUTCOMES
from .tally import Tally

SLOWEST: Final = 5
REASONS: Final = 12


def render_json(tally: Tally, seconds: float, end: str, *, given_up: int = 0) -> str:
    """Give one JSON object on one line."""
    return json.dumps(
        {
            "end": end,
            "seconds": round(seconds, 3),
            "urls": tally.urls,
            "outcomes": {word: tally.outcomes[word] for word in OUTCOMES},
            "reasons": dict(tally.reasons.most_common()),
            "not_listed": tally.unlisted,
            "messages_given_up": given_up,
            "slowest_hosts": slowest(tally),
        }
    )


def render_text(tally: Tally, seconds: float, *, is_complete: bool, given_up: int = 0) -> str:
    """Give a few lines."""
    return "\n".join(_lines(tally, seconds, is_complete=is_complete, given_up=given_up))


def _lines(tally: Tally, seconds: float, *, is_complete: bool, given_up: int) -> Iterator[str]:
    word = "complete" if is_complete else "stopped"
    yield f"{word}: {tally.pages} pages in {seconds:.1f} s"
    for outcome in OUTCOMES:
        if tally.outcomes[outcome]:
            yield f"  {outcome:<11}{tally.outcomes[outcome]:>8}"
    if tally.reasons:
        yield "why not:"
        for reason, count in tally.reasons.most_common(REASONS):
            yield f"  {reason:<36}{count:>8}"
    if tally.unlisted:
        yield f"  and {tally.unlisted} refused links without a line of their own"
    if given_up:
        yield f"  and {given_up} messages were given up, which is a bug in strider: see the log above"
    if hosts := slowest(tally):
        yield "slowest hosts:"
        for name, milliseconds in hosts.items():
            yield f"  {name:<36}{milliseconds:>8.0f} ms a page"


def slowest(tally: Tally) -> Mapping[str, float]:
    """Give the hosts whose pages took longest, on average."""
    averages = {name: host.milliseconds / host.pages for name, host in tally.hosts.items() if host.pages}
    best = sorted(averages.items(), key=lambda pair: (-pair[1], pair[0]))[:SLOWEST]
    return {name: round(milliseconds, 1) for name, milliseconds in best}
