"""Decide the response to a request.

Takes one request and the rules, returns the echo or its refusal. Knows nothing of topics, time or settings.
"""

from __future__ import annotations

from dataclasses import dataclass

from strider.contracts.generated.enums import EchoOutcome
from strider.contracts.generated.events import Echoed, EchoRequested


@dataclass(frozen=True, slots=True)
class Rules:
    """Form and limits of an echo."""

    prefix: str = ""
    max_text_chars: int = 10_000


def echo_of(request: EchoRequested, rules: Rules) -> Echoed:
    """Return the echo of a request, or its refusal: blank and very long texts have no echo."""
    text = request.text.strip()
    if not text:
        outcome, text = EchoOutcome.REFUSED_EMPTY, ""
    elif len(text) > rules.max_text_chars:
        outcome, text = EchoOutcome.REFUSED_LONG, ""
    else:
        outcome, text = EchoOutcome.ECHOED, rules.prefix + text
    return Echoed(
        request_id=request.request_id,
        host=request.host,
        outcome=outcome,
        text=text,
        requested_at_ms=request.sent_at_ms,
    )
