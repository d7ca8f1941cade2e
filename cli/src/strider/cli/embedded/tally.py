"""What was told so far, in numbers. Pure."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import Self

from .lines import FAILED, PAGE, REJECTED


@dataclass(slots=True)
class HostTally:
    """What a host took."""

    pages: int = 0
    milliseconds: float = 0.0


@dataclass(slots=True)
class Tally:
    """What was told so far."""

    outcomes: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    hosts: dict[str, HostTally] = field(default_factory=dict)
    unlisted: int = 0
    """Refusals that were only counted."""

    def note(self, outcome: str, reason: str) -> None:
        """Count a URL."""
        self.outcomes[outcome] += 1
        if reason:
            self.reasons[f"{outcome}: {reason}"] += 1

    def took(self, host: str, milliseconds: float) -> None:
        """Count what a page took."""
        tally = self.hosts.setdefault(host, HostTally())
        tally.pages += 1
        tally.milliseconds += milliseconds

    @property
    def urls(self) -> int:
        """URLs of which is known how they ended."""
        return self.outcomes.total()

    @property
    def pages(self) -> int:
        """Pages that are content."""
        return self.outcomes[PAGE]

    @property
    def errors(self) -> int:
        """URLs that failed."""
        return self.outcomes[FAILED]

    @property
    def is_fruitless(self) -> bool:
        """Whether nothing was fetched."""
        return not (self.outcomes[PAGE] or self.outcomes[REJECTED])

    def to_json(self) -> str:
        """Write it down, without the hosts, whose times stand in the lines."""
        return json.dumps([self.outcomes, self.reasons, self.unlisted])

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what was written down."""
        outcomes, reasons, unlisted = json.loads(text)
        return cls(Counter(outcomes), Counter(reasons), unlisted=unlisted)
