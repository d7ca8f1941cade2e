"""Detect request headers that may only be sent to the sites of the crawl itself.

These are `Authorization`, `Cookie`, and all headers whose name suggests a key, token or session. Withholding
one needlessly costs a foreign page little; leaking one cannot be undone.
"""

from __future__ import annotations

import re
from typing import Final

_SENSITIVE_NAME: Final = re.compile(
    r"auth|cookie|token|secret|passw|credential|session|signature|jwt|api[-_]?key|(?:^|[-_])key$",
    re.IGNORECASE,
)


def is_sensitive_header(name: str) -> bool:
    """Whether a header is sensitive, judged by its name."""
    return _SENSITIVE_NAME.search(name) is not None
