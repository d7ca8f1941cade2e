"""Is a page content or garbage? The decisions, as functions of values."""

from .block_page_signatures import SIGNATURES, Signature, find_signature
from .page_validation import VALID, PageAssessment, ValidationRules, judge, reject
from .validation_events import SERVICE, build_closing_verdict, build_verdict, rejection_of

__all__ = [
    "SERVICE",
    "SIGNATURES",
    "VALID",
    "Judgement",
    "Signature",
    "ValidationRules",
    "closing_verdict",
    "find_signature",
    "judge",
    "reject",
    "rejection_of",
    "verdict_of",
]
