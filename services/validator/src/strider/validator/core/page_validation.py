"""Is this page content or garbage?

Takes a parsed page and the rules, returns a judgement: valid, doubtful (kept, with warnings) or
rejected, with the reason and what follows from it. Pages that say little but lead on are kept, or a
crawl would end at every menu; `strict` rejects them as well. Only HTML is held to what HTML pages
consist of: a text, a JSON document or a feed has no paragraphs and is what it is.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import Final

from strider.contracts.generated.enums import (
    DocumentKind,
    ParseOutcome,
    RejectionKind,
    RejectionReason,
    ValidationStatus,
)
from strider.contracts.generated.events import PageParsed

from .block_page_signatures import SIGNATURES, SignatureMatch, find_signature
from .product_checks import product_flaws

_REASON_BY_PARSE_OUTCOME: Final[dict[str, str]] = {
    ParseOutcome.EMPTY: RejectionReason.EMPTY,
    ParseOutcome.UNSUPPORTED: RejectionReason.UNSUPPORTED,
    ParseOutcome.UNDECODABLE: RejectionReason.UNDECODABLE,
    ParseOutcome.DECODE_BOMB: RejectionReason.DECODE_BOMB,
    ParseOutcome.TOO_LARGE: RejectionReason.TOO_LARGE,
    ParseOutcome.MALFORMED: RejectionReason.MALFORMED,
    ParseOutcome.TIMED_OUT: RejectionReason.PARSE_TIMEOUT,
    ParseOutcome.OUT_OF_MEMORY: RejectionReason.PARSE_MEMORY,
    ParseOutcome.CRASHED: RejectionReason.PARSER_CRASHED,
}
_KINDS: Final[dict[str, str]] = {
    RejectionReason.ACCESS_DENIED: RejectionKind.HARD,
    RejectionReason.FORBIDDEN: RejectionKind.HARD,
    RejectionReason.CHALLENGE_PAGE: RejectionKind.HARD,
    RejectionReason.CAPTCHA: RejectionKind.HARD,
    RejectionReason.JAVASCRIPT_REQUIRED: RejectionKind.SOFT,
    RejectionReason.ONLY_SCRIPTS: RejectionKind.SOFT,
}
"""What follows from a reason; plain where it is not named. A site that puts up a wall is left alone,
one that only needs a browser may have one."""

LOGIN_PHRASES: Final = ("log in", "login", "sign in", "anmelden", "connexion", "iniciar sesión")

_BLOCKABLE_KINDS: Final = frozenset({DocumentKind.HTML, DocumentKind.TEXT})
"""Documents that may be a wall. Data is never one, whatever words are in it."""


@dataclass(frozen=True, slots=True)
class ValidationRules:
    """What a page must have to be content."""

    min_body_bytes: int = 500
    """Of HTML, decoded."""
    min_text_without_paragraphs_chars: int = 1_000
    """Text from which an HTML page without paragraphs is content all the same."""
    min_links: int = 1
    """Links from which a page is worth keeping though it says little."""
    max_login_text_chars: int = 1_000
    """Longer pages with a password field have more to say than `log in`."""
    strict: bool = False
    """Reject what is short or has no paragraphs, even where it leads on."""

    @property
    def version(self) -> str:
        """Name these rules; changes with every threshold and phrase."""
        return sha256(repr((asdict(self), SIGNATURES)).encode()).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class PageAssessment:
    """What is thought of a page."""

    status: str
    reason: str = ""
    kind: str = ""
    detail: str = ""
    warnings: tuple[str, ...] = ()

    @property
    def is_rejected(self) -> bool:
        """Whether it is no content."""
        return self.status == ValidationStatus.REJECTED


VALID: Final = PageAssessment(ValidationStatus.VALID)


def judge(page: PageParsed, rules: ValidationRules) -> PageAssessment:
    """Judge one page."""
    if page.outcome == ParseOutcome.NOT_MODIFIED:
        return VALID
    if (reason := _REASON_BY_PARSE_OUTCOME.get(page.outcome)) is not None:
        return reject(reason, page.error_message)
    if page.document_kind in _BLOCKABLE_KINDS and (wall := _find_block_page(page, rules)) is not None:
        return reject(wall.reason, f"{wall.location}: {wall.phrase}")
    if page.document_kind != DocumentKind.HTML:
        return _accept(page, ())
    return _validate_structure(page, rules)


def reject(reason: str, detail: str = "") -> PageAssessment:
    """Reject a page for a reason."""
    return PageAssessment(ValidationStatus.REJECTED, reason, rejection_kind_of(reason), detail)


def rejection_kind_of(reason: str) -> str:
    """Say what follows from a reason to reject a page."""
    return _KINDS.get(reason, RejectionKind.PLAIN)


def _find_block_page(page: PageParsed, rules: ValidationRules) -> SignatureMatch | None:
    found = find_signature(
        title=page.title, text=page.text, noscript=page.noscript_text, text_chars=page.text_chars
    )
    if found is not None or not page.password_fields or page.text_chars > rules.max_login_text_chars:
        return found
    title = page.title.lower()
    word = next((word for word in LOGIN_PHRASES if word in title), None)
    return (
        None
        if word is None
        else SignatureMatch(RejectionReason.LOGIN_WALL, f"{word}, and a password field", "title")
    )


def _validate_structure(page: PageParsed, rules: ValidationRules) -> PageAssessment:
    """Hold HTML to what pages consist of; the first thing that is missing decides."""
    missing = tuple(_missing(page, rules))
    if not missing:
        return _accept(page, ())
    leads_on = len(page.link_urls) >= rules.min_links > 0 or page.refresh_url not in {"", page.url}
    if leads_on and not rules.strict:
        return _accept(page, missing)
    return reject(missing[0], _measurements(page))


def _missing(page: PageParsed, rules: ValidationRules) -> list[str]:
    missing: list[str] = []
    if not page.text_chars:
        missing.append(RejectionReason.ONLY_SCRIPTS if page.script_count else RejectionReason.NO_TEXT)
    if page.decoded_bytes < rules.min_body_bytes:
        missing.append(RejectionReason.TOO_SHORT)
    is_little = rules.strict or page.text_chars < rules.min_text_without_paragraphs_chars
    if not page.paragraph_count and is_little:
        missing.append(RejectionReason.NO_PARAGRAPHS)
    return missing


def _measurements(page: PageParsed) -> str:
    return (
        f"{page.decoded_bytes} bytes, {page.text_chars} characters of text, "
        f"{page.paragraph_count} paragraphs, {page.script_count} scripts, {len(page.link_urls)} links"
    )


def _accept(page: PageParsed, missing: tuple[str, ...]) -> PageAssessment:
    is_part = page.outcome == ParseOutcome.PARTLY_PARSED
    warnings = (*missing, ParseOutcome.PARTLY_PARSED) if is_part else missing
    if page.products:
        warnings += product_flaws(page.products)
    return PageAssessment(ValidationStatus.DOUBTFUL, warnings=warnings) if warnings else VALID
