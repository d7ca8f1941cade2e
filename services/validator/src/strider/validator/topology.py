"""pages-parsed -> judge -> pages-validated, or pages-rejected.

The end of a list that is none -> pages-rejected, and behind its parts, what closes it -> pages-validated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from strider.contracts.avro.codec import EncodedMessage
from strider.contracts.generated.enums import ParseOutcome
from strider.contracts.generated.events import PageParsed, PageRejected, PageValidated, Verdict
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
    follows_other_parts,
    has_more_parts,
    permanent_failure_reason,
)
from strider.crawl.page_rejections import closing_event
from strider.crawl.page_rejections import page_rejection as rejection_from_headers
from strider.messaging.effects import NO_EFFECTS, Effects, Publish, Subscription
from strider.messaging.ports import Record
from strider.runtime.observability.logging import logger

from .core import SERVICE, ValidationRules, build_closing_verdict, build_verdict, judge, rejection_of

CONSUMES: Final = (PAGES_PARSED,)
PRODUCES: Final = (PAGES_VALIDATED, PAGES_REJECTED)
DEAD_LETTERS: Final = VALIDATOR_DLQ
GROUP: Final = "validator"

DECODED_FIELDS: Final = (
    *("url_key", "group", "job_id", "execution_id", "fetch_sequence", "outcome", "decoded_bytes"),
    *("document_kind", "title", "text", "text_chars", "paragraph_count", "script_count"),
    *("password_fields", "noscript_text", "link_urls", "refresh_url", "products"),
)
"""What a page that is kept is judged by, and named by in what is said of it."""

_NONDETERMINISTIC_OUTCOMES: Final = frozenset(
    {ParseOutcome.TIMED_OUT, ParseOutcome.OUT_OF_MEMORY, ParseOutcome.CRASHED}
)
"""Outcomes that do not follow from the bytes alone: whoever died at them before may have spoken parts."""

_log = logger("validator")


class ValidatedPageEncoder(Protocol):
    """Who puts a page and its verdict together."""

    def splice(self, page: PageParsed, record: Record, verdict: Verdict) -> EncodedMessage | None:
        """Give the validated page's bytes; None where it is to be written from the event."""


class Validator:
    """Judge, then pass the page on or say why not. Nothing is remembered."""

    def __init__(
        self, rules: ValidationRules, encoder: ValidatedPageEncoder, *, now_ms: Callable[[], int]
    ) -> None:
        self._rules = rules
        self._rules_version = rules.version
        self._pages = encoder
        self._now_ms = now_ms

    def subscriptions(self) -> tuple[Subscription, ...]:
        """Say which topic goes to which method."""
        return (Subscription(PAGES_PARSED, handler=self.on_page_parsed, fields=DECODED_FIELDS),)

    async def on_page_parsed(self, page: PageParsed, record: Record) -> Effects:
        """Judge one page; what only closes an entry is handed on, behind the parts that came before it."""
        if reason := permanent_failure_reason(record.headers):
            return Effects((self._publish_closing(page, reason),), outcome=reason)
        judgement = judge(page, self._rules)
        version, now_ms = self._rules_version, self._now_ms()
        if judgement.is_rejected:
            _log.info("Page Rejected", url=page.url, reason=judgement.reason, detail=judgement.detail)
            rejected = rejection_of(page, judgement, rules_version=version, now_ms=now_ms)
            return self._publish_rejection(rejected, record, outcome=judgement.reason)
        verdict = build_verdict(judgement, rules_version=version, now_ms=now_ms)
        validated = PageValidated(page=page, verdict=verdict)
        encoded = self._pages.splice(page, record, verdict)
        further = (
            MORE_PARTS_HEADERS
            if has_more_parts(record.headers)
            else LAST_PART_HEADERS
            if follows_other_parts(record.headers)
            else ()
        )
        return Effects(
            (Publish(PAGES_VALIDATED, validated, further, encoded=encoded),), outcome=judgement.status
        )

    async def on_given_up(self, record: Record, reason: str) -> Effects:
        """Speak for a page that could not be judged, so that its entry settles; the last part does it."""
        if has_more_parts(record.headers):
            return NO_EFFECTS
        rejected = rejection_from_headers(record, reason, service=SERVICE, now_ms=self._now_ms())
        if rejected is None:
            return NO_EFFECTS
        effects = self._publish_rejection(rejected, record)
        return effects if effects.publish_last else Effects(publish_last=effects.publish)

    def _publish_rejection(self, rejected: PageRejected, record: Record, *, outcome: str = "done") -> Effects:
        """Say that a page is none. Where parts of it may have come before, what closes it follows them."""
        if has_more_parts(record.headers):
            return Effects((Publish(PAGES_REJECTED, rejected, MORE_PARTS_HEADERS),), outcome=outcome)
        if (
            not follows_other_parts(record.headers)
            and rejected.parse_outcome not in _NONDETERMINISTIC_OUTCOMES
        ):
            return Effects((Publish(PAGES_REJECTED, rejected),), outcome=outcome)
        closes = self._publish_closing(closing_event(rejected), rejected.rejection_reason)
        return Effects(
            (Publish(PAGES_REJECTED, rejected, MORE_PARTS_HEADERS),), publish_last=(closes,), outcome=outcome
        )

    def _publish_closing(self, page: PageParsed, reason: str) -> Publish:
        verdict = build_closing_verdict(reason, rules_version=self._rules_version, now_ms=self._now_ms())
        return Publish(PAGES_VALIDATED, PageValidated(page=page, verdict=verdict), closing_headers(reason))
