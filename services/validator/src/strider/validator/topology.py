"""pages-parsed -> judge -> pages-validated, or pages-rejected."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from strider.contracts.codec import Encoded
from strider.contracts.generated.events import PageParsed, PageValidated, Verdict
from strider.contracts.generated.topics import (
    PAGES_PARSED,
    PAGES_REJECTED,
    PAGES_VALIDATED,
    VALIDATOR_DLQ,
)
from strider.contracts.parts import MORE, has_more
from strider.runtime.effects import NOTHING, Effects, Reads, Say
from strider.runtime.lastwords import rejection_of as rejection_from_headers
from strider.runtime.logs import logger
from strider.runtime.ports import Record

from .core import SERVICE, Rules, judge, rejection_of, verdict_of

CONSUMES: Final = (PAGES_PARSED,)
PRODUCES: Final = (PAGES_VALIDATED, PAGES_REJECTED)
DEAD_LETTERS: Final = VALIDATOR_DLQ
GROUP: Final = "validator"

LOOKED_AT: Final = (
    *("url_key", "group", "job_id", "execution_id", "fetch_sequence", "outcome", "decoded_bytes"),
    *("document_kind", "title", "text", "text_chars", "paragraph_count", "script_count"),
    *("password_fields", "noscript_text", "link_urls", "refresh_url", "products"),
)
"""What a page that is kept is judged by, and named by in what is said of it."""

_log = logger("validator")


class Pages(Protocol):
    """Who puts a page and its verdict together."""

    def join(self, page: PageParsed, record: Record, verdict: Verdict) -> Encoded | None:
        """Give the validated page's bytes; None where it is to be written from the event."""


class Validator:
    """Judge, then pass the page on or say why not. Nothing is remembered."""

    def __init__(self, rules: Rules, pages: Pages, *, now_ms: Callable[[], int]) -> None:
        self._rules = rules
        self._rules_version = rules.version
        self._pages = pages
        self._now_ms = now_ms

    def reads(self) -> tuple[Reads, ...]:
        """Say which topic goes to which method."""
        return (Reads(PAGES_PARSED, handler=self.on_page_parsed, fields=LOOKED_AT),)

    async def on_page_parsed(self, page: PageParsed, record: Record) -> Effects:
        """Judge one page."""
        judgement = judge(page, self._rules)
        version, now_ms = self._rules_version, self._now_ms()
        if judgement.is_rejected:
            _log.info("Page Rejected", url=page.url, reason=judgement.reason, detail=judgement.detail)
            rejected = rejection_of(page, judgement, rules_version=version, now_ms=now_ms)
            return Effects((Say(PAGES_REJECTED, rejected),), outcome=judgement.reason)
        verdict = verdict_of(judgement, rules_version=version, now_ms=now_ms)
        validated = PageValidated(page=page, verdict=verdict)
        encoded = self._pages.join(page, record, verdict)
        further = MORE if has_more(record.headers) else ()
        return Effects((Say(PAGES_VALIDATED, validated, further, encoded=encoded),), outcome=judgement.status)

    async def on_given_up(self, record: Record, reason: str) -> Effects:
        """Speak for a page that could not be judged, so that its entry settles; the last part does it."""
        if has_more(record.headers):
            return NOTHING
        rejected = rejection_from_headers(record, reason, service=SERVICE, now_ms=self._now_ms())
        return NOTHING if rejected is None else Effects(close=(Say(PAGES_REJECTED, rejected),))
