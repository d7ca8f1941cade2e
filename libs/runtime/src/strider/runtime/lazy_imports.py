"""Import of libraries without their optional extras.

Some libraries load another one where it is installed, for features that are not used here. Knows of no
library itself.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast


@contextmanager
def hidden_modules(*names: str) -> Iterator[None]:
    """Hide these modules from what is imported meanwhile, as if they were not installed.

    A module that is loaded already stays available.
    """
    modules = cast("dict[str, Any]", sys.modules)
    absent = [name for name in names if name not in modules]
    modules.update(dict.fromkeys(absent))  # None is what the interpreter takes for "not found"
    try:
        yield
    finally:
        for name in absent:
            modules.pop(name, None)
