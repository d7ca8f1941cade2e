"""By which names entries, seen-sets and fingerprints are known; derived, never drawn.

Pure. Two services that never meet must come to the same name for the same thing, so the names are
made here and nowhere else.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Final

ADHOC_JOB_ID: Final = "adhoc"
"""The standing job of seeds that name none."""

_SPEC_CHARACTERS: Final = 16


def entry_id(job_id: str, url_key: str) -> str:
    """Name the entry of a URL in a job: 128 bits in hex, which no two entries of a frontier share."""
    return entry_id_bytes(job_id, url_key).hex()


def entry_id_bytes(job_id: str, url_key: str) -> bytes:
    """Name it in 16 bytes."""
    return entry_id_of_bytes(job_id.encode(), url_key.encode())


def entry_id_of_bytes(job_id: bytes, url_key: bytes) -> bytes:
    """Name it in 16 bytes, for whoever has its names as bytes."""
    return blake2b(job_id + b"\n" + url_key, digest_size=16).digest()


def seen_scope(job_id: str, crawl_spec_id: str) -> str:
    """Name the seen-set: a job has one; in the standing job each crawl spec has its own."""
    return f"{ADHOC}.{crawl_spec_id[:_SPEC_CHARACTERS]}" if job_id == ADHOC_JOB_ID else job_id


def key_fingerprint(url_key: str | bytes) -> int:
    """Take the 64 bits of a URL key that seen-sets hold."""
    return int(url_key[:16], 16)
