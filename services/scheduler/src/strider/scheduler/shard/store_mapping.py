"""Entries as a working set is asked about them and told of them. Decides nothing, waits for nothing."""

from __future__ import annotations

from strider.contracts.generated.events import EntryRecorded
from strider.contracts.ids import entry_id, key_fingerprint, seen_scope
from strider.frontier.models import (
    AcceptedEntry,
    EntryConclusion,
    EntryDisposition,
    EntryLookup,
    RefusedUrl,
    SeenEntry,
)
from strider.scheduler.core import Candidate, disposition_of


def entry_lookup(job_id: str, url_key: str, crawl_spec_id: str) -> EntryLookup:
    """Ask after an entry."""
    return EntryLookup(entry_id(job_id, url_key), seen_scope(job_id, crawl_spec_id), key_fingerprint(url_key))


def accepted_entry(entry: EntryRecorded) -> AcceptedEntry:
    """Name an entry with its place in the seen-sets."""
    return AcceptedEntry(entry, seen_scope(entry.job_id, entry.crawl_spec_id), key_fingerprint(entry.url_key))


def remembered_entry(entry: EntryRecorded) -> SeenEntry:
    """Name an entry that is not to be opened."""
    name, scope = entry_id(entry.job_id, entry.url_key), seen_scope(entry.job_id, entry.crawl_spec_id)
    return SeenEntry(name, scope, key_fingerprint(entry.url_key), entry.updated_at_ms, entry.seed_token)


def seen_url(candidate: Candidate) -> RefusedUrl:
    """Name a candidate's place in the seen-sets."""
    return RefusedUrl(candidate.seen_scope, key_fingerprint(candidate.url_key))


def entry_conclusion(entry: EntryRecorded, lease_id: str = "") -> EntryConclusion:
    """Say of an entry what its record says."""
    return EntryConclusion(
        entry,
        EntryDisposition(disposition_of(entry).value),
        seen_scope(entry.job_id, entry.crawl_spec_id),
        key_fingerprint(entry.url_key),
        lease_id,
    )
