"""Is a page content or garbage? The decisions, as functions of values."""

from .judging import VALID, Judgement, Rules, judge, rejected
from .signatures import SIGNATURES, Signature, find_signature
from .verdicts import SERVICE, closing_verdict, rejection_of, verdict_of

__all__ = [
    "SERVICE",
    "SIGNATURES",
    "VALID",
    "Judgement",
    "Rules",
    "Signature",
    "closing_verdict",
    "find_signature",
    "judge",
    "rejected",
    "rejection_of",
    "verdict_of",
]
