"""pages-parsed -> validate -> pages-validated, or pages-rejected.

The last part of a page in several parts that is rejected -> pages-rejected, and after the earlier parts an
event on pages-validated that closes the entry.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from strider.contracts.generated.enums import ParseOutcome
from strider.contracts.generated.events import PageParsed, PageRejected, PageValidated
from strider.contracts.generated.topics import (
    PAGES_PARSED,
    PAGES_REJECTED,
    PAGES_VALIDATED,
    VALIDATOR_DLQ,
)
from strider.contracts.multipart_pages import (
    LAST_PART_HEADERS,
    MORE_PARTS_HEADERS,
    closing_headers,
    closing_reason,
    follows_other_parts,
    has_more_parts,
)
from strider.crawl.crawl_spec_cache import CrawlSpecLookup
from strider.crawl.page_rejections import closing_event
from strider.crawl.page_rejections import page_rejection as rejection_from_headers
from strider.crawl.run_log import NoteRunEvent, discard_note
from strider.messaging.effects import NO_EFFECTS, Effects, GivenUp, Publish, Subscription
from strider.messaging.ports import Record
from strider.runtime.observability.logging import logger
from strider.validator import log_events

from .adapters import PageSplicer
from .core import (
    SERVICE,
    ValidationRules,
    build_closing_verdict,
    build_rejection,
    build_verdict,
    rule_sets,
    validate_page,
)

CONSUMES: Final = (PAGES_PARSED,)
PRODUCES: Final = (PAGES_VALIDATED, PAGES_REJECTED)
DEAD_LETTERS: Final = VALIDATOR_DLQ
GROUP: Final = "validator"

DECODED_FIELDS: Final = (
    *("url_key", "group", "job_id", "execution_id", "crawl_spec_id", "fetch_sequence", "outcome"),
    *("decoded_bytes", "document_kind", "title", "text", "text_chars", "paragraph_count", "script_count"),
    *("password_fields", "noscript_text", "link_urls", "refresh_url", "products"),
)
"""Fields that validation reads, or that identify a rejected page."""

_NONDETERMINISTIC_OUTCOMES: Final = frozenset(
    {ParseOutcome.TIMED_OUT, ParseOutcome.OUT_OF_MEMORY, ParseOutcome.CRASHED}
)
"""Outcomes that do not follow from the bytes alone: an earlier parser may have published parts before it
failed.
"""

_log = logger("validator")


class Validator:
    """Validates pages and publishes them, or their rejection. Stateless."""

    def __init__(
        self,
        rules: ValidationRules,
        encoder: PageSplicer,
        *,
        specs: CrawlSpecLookup,
        now_ms: Callable[[], int],
        note: NoteRunEvent = discard_note,
    ) -> None:
        """Set the collaborators; `rules` are those of crawls that name no other ones."""
        self._note = note
        self._rules_by_name = {name: (each, each.version) for name, each in rule_sets(rules).items()}
        self._rules_version = rules.version
        self._specs = specs
        self._encoder = encoder
        self._now_ms = now_ms

    def subscriptions(self) -> tuple[Subscription, ...]:
        """Return the subscriptions of this service."""
        return (Subscription(PAGES_PARSED, handler=self.on_page_parsed, fields=DECODED_FIELDS),)

    async def on_page_parsed(self, page: PageParsed, record: Record) -> Effects:
        """Validate one page; an event that only closes an entry is passed on."""
        if reason := closing_reason(record.headers):
            return Effects((self._closing_event(page, reason),), outcome=reason)
        rules, version = await self._rules_of(page)
        assessment, now_ms = validate_page(page, rules), self._now_ms()
        if assessment.is_rejected:
            reason, detail = assessment.reason, assessment.detail
            _log.emit(log_events.PAGE_REJECTED, url=page.url, reason=reason, detail=detail)
            self._note(log_events.PAGES_FOUND_INVALID, page.job_id, page.execution_id, reason, 1)
            rejected = build_rejection(page, assessment, rules_version=version, now_ms=now_ms)
            return self._rejection_effects(rejected, record, outcome=reason)
        self._note(log_events.PAGES_FOUND_VALID, page.job_id, page.execution_id, assessment.status, 1)
        verdict = build_verdict(assessment, rules_version=version, now_ms=now_ms)
        validated = PageValidated(page=page, verdict=verdict)
        encoded = self._encoder.splice(page, record, verdict)
        part_headers = (
            MORE_PARTS_HEADERS
            if has_more_parts(record.headers)
            else LAST_PART_HEADERS
            if follows_other_parts(record.headers)
            else ()
        )
        return Effects(
            (Publish(PAGES_VALIDATED, validated, part_headers, encoded=encoded),), outcome=assessment.status
        )

    async def _rules_of(self, page: PageParsed) -> tuple[ValidationRules, str]:
        """Return the rules that the crawl of a page names, with their version; of unknown ones the usual."""
        spec = (await self._specs.known((page.crawl_spec_id,))).get(page.crawl_spec_id)
        usual = self._rules_by_name[""]
        return usual if spec is None else self._rules_by_name.get(spec.validation_rules, usual)

    async def on_given_up(self, record: Record, failure: GivenUp) -> Effects:
        """Reject a page that could not be validated, by its last part, so that its entry is settled."""
        if has_more_parts(record.headers):
            return NO_EFFECTS
        rejected = rejection_from_headers(record, failure.reason, service=SERVICE, now_ms=self._now_ms())
        if rejected is None:
            return NO_EFFECTS
        effects = self._rejection_effects(rejected, record)
        return effects if effects.publish_last else Effects(publish_last=effects.publish)

    def _rejection_effects(self, rejected: PageRejected, record: Record, *, outcome: str = "done") -> Effects:
        """Return the effects of a rejection; a closing event follows parts published before."""
        if has_more_parts(record.headers):
            return Effects((Publish(PAGES_REJECTED, rejected, MORE_PARTS_HEADERS),), outcome=outcome)
        if (
            not follows_other_parts(record.headers)
            and rejected.parse_outcome not in _NONDETERMINISTIC_OUTCOMES
        ):
            return Effects((Publish(PAGES_REJECTED, rejected),), outcome=outcome)
        closing = self._closing_event(closing_event(rejected), rejected.rejection_reason)
        return Effects(
            (Publish(PAGES_REJECTED, rejected, MORE_PARTS_HEADERS),), publish_last=(closing,), outcome=outcome
        )

    def _closing_event(self, page: PageParsed, reason: str) -> Publish:
        verdict = build_closing_verdict(reason, rules_version=self._rules_version, now_ms=self._now_ms())
        return Publish(PAGES_VALIDATED, PageValidated(page=page, verdict=verdict), closing_headers(reason))
