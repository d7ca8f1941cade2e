"""Which of a run's headers are meant for the sites that it is about, and for nobody else?

`Authorization` and `Cookie`, and whatever by its name is a key, a token or a session: services have many
names for such. One that is withheld for nothing costs a foreign page little; one that is given away is lost.
"""

from __future__ import annotations

import re
from typing import Final

_SENSITIVE_NAME: Final = re.compile(
    r"auth|cookie|token|secret|passw|credential|session|signature|jwt|api[-_]?key|(?:^|[-_])key$",
    re.IGNORECASE,
)


def is_sensitive_header(name: str) -> bool:
    """Judge a header by its name."""
    return _SENSITIVE_NAME.search(name) is not None
