"""How libraries are loaded without what they would only like to have.

Some libraries load another one where it is installed, to do nicely what is never asked of them here.
Knows of no library itself.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast


@contextmanager
def hidden_modules(*names: str) -> Iterator[None]:
    """Have these libraries seem not to be installed, for what is imported meanwhile.

    One that is loaded already is there to be used, and stays.
    """
    modules = cast("dict[str, Any]", sys.modules)
    absent = [name for name in names if name not in modules]
    modules.update(dict.fromkeys(absent))  # None is what the interpreter takes for "not found"
    try:
        yield
    finally:
        for name in absent:
            modules.pop(name, None)
