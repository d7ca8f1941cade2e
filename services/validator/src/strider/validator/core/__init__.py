"""Decisions of the validator, as pure functions of values: whether a page has content."""

from .block_page_signatures import SIGNATURES, find_signature
from .page_validation import VALID, PageAssessment, ValidationRules, rule_sets, validate_page
from .validation_events import SERVICE, build_closing_verdict, build_rejection, build_verdict

__all__ = [
    "SERVICE",
    "SIGNATURES",
    "VALID",
    "PageAssessment",
    "ValidationRules",
    "build_closing_verdict",
    "build_rejection",
    "build_verdict",
    "find_signature",
    "rule_sets",
    "validate_page",
]
