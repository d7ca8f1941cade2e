"""Numbered seeds: seeds of an owner that may be published again without a second fetch.

The position of a seed's message orders it among the seeds of its URL, so a seed that is published twice
is two seeds. The `seed_id` of a numbered seed, `<name>/<number>`, orders it in place of its message: of
one name, a seed re-opens a closed entry only if its number is greater than that of every seed accepted
before. The seeds of a job's run have the number of the run, so a launch that is repeated fetches nothing
twice. Pure.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple
from zlib import crc32

NUMBERED_TOPIC: Final = ".numbered"
"""Pseudo-topic of such seeds; its partitions are the names, and its offsets the numbers."""

_SEED_ID: Final = re.compile(r"(?P<name>\S{1,200})/(?P<number>[1-9][0-9]{0,14})")
_PARTITIONS: Final = 1 << 31


class SeedNumber(NamedTuple):
    """Name and number of a seed."""

    name: str
    number: int

    @property
    def seed_id(self) -> str:
        """Return the `seed_id` with this name and number."""
        return f"{self.name}/{self.number}"

    @property
    def partition(self) -> int:
        """Partition of the pseudo-topic."""
        return crc32(self.name.encode("utf-8", "surrogatepass")) % _PARTITIONS


def parse_seed_number(seed_id: str | None) -> SeedNumber | None:
    """Return name and number of a `seed_id`; None for one of another form."""
    match = _SEED_ID.fullmatch(seed_id or "")
    return None if match is None else SeedNumber(match["name"], int(match["number"]))
