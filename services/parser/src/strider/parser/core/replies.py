"""What others have said of a page stands in its data, beside what it says itself: reviews, comments."""

from __future__ import annotations

import json
import re
from itertools import islice
from typing import Final

MAX_REPLIES: Final = 20
_REPLIES: Final = re.compile(r'"(?:reviews?|comments?|suggestedAnswer|acceptedAnswer)"\s*+:\s*+(?=[\[{])')
_JSON: Final = json.JSONDecoder(strict=False)


def without_replies(data: str) -> str:
    """Leave out what others have said: no review tells when the page was published, or who wrote it."""
    kept, at = [], 0
    for match in islice(_REPLIES.finditer(data), MAX_REPLIES):
        if match.start() < at:
            continue
        try:
            _, end = _JSON.raw_decode(data, match.end())
        except (ValueError, RecursionError):
            continue
        kept.append(data[at : match.start()])
        at = end
    return "".join([*kept, data[at:]]) if at else data
