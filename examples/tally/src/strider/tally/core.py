"""Count the echoes of a host exactly, although some are delivered twice.

Takes the tally so far, one echo and its offset; returns the new tally, or none where the echo is a repeat. A
tally carries the offset up to which it counts, and both are one record, so that they are never inconsistent.
Knows nothing of topics or stores.
"""

from __future__ import annotations

from dataclasses import replace

from strider.contracts.generated.enums import EchoOutcome
from strider.contracts.generated.events import Echoed, TallyKept


def count(before: TallyKept | None, echoed: Echoed, *, offset: int, timestamp_ms: int) -> TallyKept | None:
    """Return the tally with one more echo; None where it was counted before."""
    if before is not None and offset <= before.counted_offset:
        return None
    tally = before or TallyKept(host=echoed.host, count=0, counted_offset=-1)
    is_refusal = echoed.outcome != EchoOutcome.ECHOED
    return replace(
        tally,
        count=tally.count + (not is_refusal),
        refused=tally.refused + is_refusal,
        counted_offset=offset,
        last_request_id=echoed.request_id,
        updated_at_ms=timestamp_ms,
    )
