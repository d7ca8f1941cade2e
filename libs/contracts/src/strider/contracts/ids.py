"""Ids of entries, seen-sets, URL fingerprints and commands, derived from their content.

Pure. Independent services must derive the same id for the same thing, so all of them use these functions.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Final

ADHOC_JOB_ID: Final = "adhoc"
"""The permanent job of seeds that name no job."""

_SPEC_CHARACTERS: Final = 16

_COMMAND_FAMILY: Final = {"resume": "pause", "unblock_host": "block_host"}
"""Commands that undo another one replace it; all others stand beside each other."""


def entry_id(job_id: str, url_key: str) -> str:
    """Return the id of a URL's entry in a job: 128 bits in hex, unique within a frontier."""
    return entry_id_bytes(job_id, url_key).hex()


def entry_id_bytes(job_id: str, url_key: str) -> bytes:
    """Return the entry id as 16 bytes."""
    return entry_id_of_bytes(job_id.encode(), url_key.encode())


def entry_id_of_bytes(job_id: bytes, url_key: bytes) -> bytes:
    """Return the entry id as 16 bytes, from job id and URL key as bytes."""
    return blake2b(job_id + b"\n" + url_key, digest_size=16).digest()


def seen_scope(job_id: str, crawl_spec_id: str) -> str:
    """Return the scope of the seen-set: the job, or in the ad-hoc job its crawl spec."""
    return f"{ADHOC_JOB_ID}.{crawl_spec_id[:_SPEC_CHARACTERS]}" if job_id == ADHOC_JOB_ID else job_id


def key_fingerprint(url_key: str | bytes) -> int:
    """Return the 64 bits of a URL key that seen-sets store."""
    return int(url_key[:16], 16)


def command_id(
    what: str,
    *,
    job_id: str = "",
    execution_id: str = "",
    crawl_spec_id: str = "",
    group: str = "",
    url_key: str = "",
) -> str:
    """Return the id of a command: equal for two of which the later one replaces the earlier one."""
    parts = (_COMMAND_FAMILY.get(what, what), job_id, execution_id, crawl_spec_id, group)
    subject = "\n".join((*parts, url_key) if url_key else parts)
    return blake2b(subject.encode(), digest_size=16).hexdigest()
