"""Cut the end of a log of a stopped broker, as a power cut does that took what was not yet on the disk."""

from __future__ import annotations

import struct
from pathlib import Path

_HEAD = struct.Struct(">qi")


def cut_log(data: Path, topic: str, partition: int, *, end: int) -> None:
    """Cut a partition so that it ends at this offset, which has to be the first of a batch."""
    (folder,) = data.rglob(f"{topic}-{partition}")
    (segment,) = folder.glob("*.log")
    content = segment.read_bytes()
    position = 0
    while position + _HEAD.size <= len(content):
        first, length = _HEAD.unpack_from(content, position)
        if first >= end:
            break
        position += _HEAD.size + length
    assert first == end, f"no batch of {folder.name} begins at {end}"
    segment.write_bytes(content[:position])
    for index in (*folder.glob("*.index"), *folder.glob("*.timeindex"), *folder.glob("*.snapshot")):
        index.unlink()
