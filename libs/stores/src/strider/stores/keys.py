"""Every Redis key of the house: who writes it, how it is spelt, how long it lives.

    strider:<entity>:{<id>}:<attribute>[:<part>…]

The id stands in braces, so that all keys of one entity share a cluster slot and one script may
touch them. What belongs to a job bears the job's id there: `strider:job:{<job id>}:…` is the
namespace that keeps jobs apart. Keys are built here and never taken apart; nothing scans for them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

_WORD: Final = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
_UNFIT: Final = re.compile(r"[{}\s\x00-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class KeyFamily:
    """Keys of one kind. Call it with an id, and with the further parts that it declares."""

    owner: str
    """The one service that writes such keys; others may read."""
    entity: str
    attribute: str
    lifetime: timedelta | None
    """Set anew by each write. None: lives until its owner takes it away, and is counted as working set."""
    purpose: str
    parts: tuple[str, ...] = ()
    """Names of what follows the attribute."""

    def __post_init__(self) -> None:
        """Refuse words that break the grammar."""
        for word in (self.owner, self.entity, self.attribute, *self.parts):
            if not _WORD.fullmatch(word):
                raise ValueError(f"no word of a key: {word!r}")
        if self.lifetime is not None and self.lifetime < timedelta(seconds=1):
            raise ValueError(f"a lifetime of less than a second: {self.lifetime}")

    def __call__(self, entity_id: object, /, *parts: object) -> str:
        """Build one key."""
        if len(parts) != len(self.parts):
            raise ValueError(f"{self.pattern} takes {len(self.parts)} parts after the id, not {len(parts)}")
        values = [str(value) for value in (entity_id, *parts)]
        for value in values:
            if not value or _UNFIT.search(value):
                raise ValueError(f"does not fit into a key: {value!r}")
        tail = "".join(f":{value}" for value in values[1:])
        return f"strider:{self.entity}:{{{values[0]}}}:{self.attribute}{tail}"

    @property
    def pattern(self) -> str:
        """How keys of this kind look, for people: `strider:job:{<id>}:log`."""
        tail = "".join(f":<{part}>" for part in self.parts)
        return f"strider:{self.entity}:{{<id>}}:{self.attribute}{tail}"

    @property
    def lifetime_seconds(self) -> int:
        """Whole seconds for EXPIRE; 0 where nothing expires."""
        return int(self.lifetime.total_seconds()) if self.lifetime else 0


JOB_LOG: Final = KeyFamily(
    "runtime",
    "job",
    "log",
    timedelta(days=7),
    "Last lines of a job's log: a capped stream, oldest lines go first.",
)

KEY_FAMILIES: Final = (JOB_LOG,)
"""All of them; a test of the repository finds each one documented."""
