"""Map entries and candidates to the calls of the working set: keys, seen-sets, conclusions."""

from __future__ import annotations

from strider.contracts.fast_dataclass import replace_fields
from strider.contracts.generated.events import EntryRecorded
from strider.contracts.ids import entry_id, key_fingerprint, seen_scope
from strider.frontier.models import (
    AcceptedEntry,
    EntryConclusion,
    EntryDisposition,
    EntryLookup,
    RefusedFingerprint,
    SeenEntry,
)
from strider.scheduler.core.entries.candidates import Candidate
from strider.scheduler.core.entries.state import disposition_of


def entry_lookup(job_id: str, url_key: str, crawl_spec_id: str) -> EntryLookup:
    """Return the lookup of one entry."""
    return EntryLookup(entry_id(job_id, url_key), seen_scope(job_id, crawl_spec_id), key_fingerprint(url_key))


def accepted_entry(entry: EntryRecorded) -> AcceptedEntry:
    """Return a new entry with its keys in the seen-sets."""
    return AcceptedEntry(entry, seen_scope(entry.job_id, entry.crawl_spec_id), key_fingerprint(entry.url_key))


def seen_entry_of(entry: EntryRecorded) -> SeenEntry:
    """Return the keys and seed token of an entry that exists already."""
    name, scope = entry_id(entry.job_id, entry.url_key), seen_scope(entry.job_id, entry.crawl_spec_id)
    return SeenEntry(name, scope, key_fingerprint(entry.url_key), entry.updated_at_ms, entry.seed_token)


def seen_url(candidate: Candidate) -> RefusedFingerprint:
    """Return a candidate's keys in the seen-sets."""
    return RefusedFingerprint(candidate.seen_scope, key_fingerprint(candidate.url_key))


def entry_conclusion(entry: EntryRecorded, lease_id: str = "") -> EntryConclusion:
    """Return the conclusion of an entry by its record, ending the named lease."""
    return EntryConclusion(
        entry,
        disposition_of(entry),
        seen_scope(entry.job_id, entry.crawl_spec_id),
        key_fingerprint(entry.url_key),
        lease_id,
    )


def robots_conclusion(request: EntryRecorded, lease_id: str) -> EntryConclusion:
    """Return the conclusion of a robots.txt request without an outcome: its lease ends, no entry changes."""
    return EntryConclusion(request, EntryDisposition.CLOSE_AND_FORGET, "", 0, lease_id)


def query_conclusion(entry: EntryRecorded, lease_id: str = "") -> EntryConclusion:
    """Return the conclusion of the entry of a robots.txt query, which leaves no trace."""
    return replace_fields(entry_conclusion(entry, lease_id), disposition=EntryDisposition.CLOSE_AND_FORGET)


def returns_to_queue(conclusion: EntryConclusion) -> bool:
    """Whether a conclusion puts its entry back into a queue."""
    return conclusion.disposition is EntryDisposition.QUEUE
