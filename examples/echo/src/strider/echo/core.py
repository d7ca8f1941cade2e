"""What is answered to a request?

Takes one request and the rules, returns the echo or its refusal. Knows nothing of topics, time or
settings.
"""

from __future__ import annotations

from dataclasses import dataclass

from strider.contracts.generated.enums import EchoOutcome
from strider.contracts.generated.events import Echoed, EchoRequested


@dataclass(frozen=True, slots=True)
class Rules:
    """How answers look, and where they end."""

    prefix: str = ""
    max_text_chars: int = 10_000


def answer(request: EchoRequested, rules: Rules) -> Echoed:
    """Echo a request, or refuse it: blank texts have no echo, and very long ones get none."""
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
