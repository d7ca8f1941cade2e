"""Validates a page: valid, doubtful (kept, with warnings) or rejected, with the reason.

Pages with little text that have links are kept, or a crawl would end at every menu; `strict` rejects them as
well. Only HTML must have the structure of an HTML page: a text, a JSON document or a feed has no paragraphs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
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
_KIND_BY_REASON: Final[dict[str, str]] = {
    RejectionReason.ACCESS_DENIED: RejectionKind.HARD,
    RejectionReason.FORBIDDEN: RejectionKind.HARD,
    RejectionReason.CHALLENGE_PAGE: RejectionKind.HARD,
    RejectionReason.CAPTCHA: RejectionKind.HARD,
    RejectionReason.JAVASCRIPT_REQUIRED: RejectionKind.SOFT,
    RejectionReason.ONLY_SCRIPTS: RejectionKind.SOFT,
}
"""Rejection kind by reason; plain if not listed. Hard reasons make the scheduler pause the site, soft ones
may lead to a fetch with a browser.
"""

LOGIN_PHRASES: Final = ("log in", "login", "sign in", "anmelden", "connexion", "iniciar sesión")

_BLOCKABLE_KINDS: Final = frozenset({DocumentKind.HTML, DocumentKind.TEXT})
"""Documents that may be a block page. Data never is, whatever phrases it contains."""


@dataclass(frozen=True, slots=True)
class ValidationRules:
    """Requirements for a page to count as content."""

    min_body_bytes: int = 500
    """Of HTML, decoded."""
    min_text_without_paragraphs_chars: int = 1_000
    """An HTML page with this much text needs no paragraphs."""
    min_links: int = 1
    """A page with this many links is kept even if it has little text."""
    max_login_text_chars: int = 1_000
    """A page with a password field and more text than this is not just a login page."""
    needs_text: bool = True
    """Reject pages without any text."""
    strict: bool = False
    """Reject short pages and pages without paragraphs even if they have links."""

    @property
    def version(self) -> str:
        """Fingerprint of the rules and signatures; it is published with each verdict."""
        return sha256(repr((asdict(self), SIGNATURES)).encode()).hexdigest()[:12]


def rule_sets(configured: ValidationRules) -> Mapping[str, ValidationRules]:
    """Return the rules by their name in a crawl spec: the configured ones, and their variants.

    `lenient` keeps every page that could be read and is no block page, however little is on it.
    """
    return {
        "": configured,
        "strict": replace(configured, strict=True),
        "lenient": replace(
            configured, strict=False, min_body_bytes=0, min_text_without_paragraphs_chars=0, needs_text=False
        ),
    }


@dataclass(frozen=True, slots=True)
class PageAssessment:
    """Result of the validation of a page."""

    status: str
    reason: str = ""
    kind: str = ""
    detail: str = ""
    warnings: tuple[str, ...] = ()

    @property
    def is_rejected(self) -> bool:
        """Whether the page is not content."""
        return self.status == ValidationStatus.REJECTED


VALID: Final = PageAssessment(ValidationStatus.VALID)


def validate_page(page: PageParsed, rules: ValidationRules) -> PageAssessment:
    """Validate one page."""
    if page.outcome == ParseOutcome.NOT_MODIFIED:
        return VALID
    if (reason := _REASON_BY_PARSE_OUTCOME.get(page.outcome)) is not None:
        return reject(reason, page.error_message)
    if page.document_kind in _BLOCKABLE_KINDS and (match := _find_block_page(page, rules)) is not None:
        return reject(match.reason, f"{match.location}: {match.phrase}")
    if page.document_kind != DocumentKind.HTML:
        return _accept(page, ())
    return _validate_structure(page, rules)


def reject(reason: str, detail: str = "") -> PageAssessment:
    """Return a rejection for a reason."""
    return PageAssessment(ValidationStatus.REJECTED, reason, rejection_kind_of(reason), detail)


def rejection_kind_of(reason: str) -> str:
    """Return the rejection kind of a reason, which decides what the scheduler does."""
    return _KIND_BY_REASON.get(reason, RejectionKind.PLAIN)


def _find_block_page(page: PageParsed, rules: ValidationRules) -> SignatureMatch | None:
    match = find_signature(
        title=page.title, text=page.text, noscript=page.noscript_text, text_chars=page.text_chars
    )
    if match is not None or not page.password_fields or page.text_chars > rules.max_login_text_chars:
        return match
    title = page.title.lower()
    phrase = next((phrase for phrase in LOGIN_PHRASES if phrase in title), None)
    if phrase is None:
        return None
    return SignatureMatch(RejectionReason.LOGIN_WALL, f"{phrase}, and a password field", "title")


def _validate_structure(page: PageParsed, rules: ValidationRules) -> PageAssessment:
    """Check that HTML has what pages consist of; the first missing part is the reason."""
    missing = tuple(_missing_content(page, rules))
    if not missing:
        return _accept(page, ())
    leads_on = len(page.link_urls) >= rules.min_links > 0 or page.refresh_url not in {"", page.url}
    if leads_on and not rules.strict:
        return _accept(page, missing)
    return reject(missing[0], _measurements(page))


def _missing_content(page: PageParsed, rules: ValidationRules) -> list[str]:
    missing: list[str] = []
    if rules.needs_text and not page.text_chars:
        missing.append(RejectionReason.ONLY_SCRIPTS if page.script_count else RejectionReason.NO_TEXT)
    if page.decoded_bytes < rules.min_body_bytes:
        missing.append(RejectionReason.TOO_SHORT)
    is_little = rules.strict or page.text_chars < rules.min_text_without_paragraphs_chars
    if not page.paragraph_count and is_little:
        missing.append(RejectionReason.NO_PARAGRAPHS)
    return missing


def _measurements(page: PageParsed) -> str:
    return (
        f"bytes {page.decoded_bytes}, characters of text {page.text_chars}, "
        f"paragraphs {page.paragraph_count}, scripts {page.script_count}, links {len(page.link_urls)}"
    )


def _accept(page: PageParsed, missing: tuple[str, ...]) -> PageAssessment:
    is_part = page.outcome == ParseOutcome.PARTLY_PARSED
    warnings = (*missing, ParseOutcome.PARTLY_PARSED) if is_part else missing
    if page.products:
        warnings += product_flaws(page.products)
    return PageAssessment(ValidationStatus.DOUBTFUL, warnings=warnings) if warnings else VALID
