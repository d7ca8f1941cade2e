"""How hard the client library compresses what it sends.

Decides the level alone: the library writes zstd at level 3 and lets nobody choose. Level 1 takes
three fifths of the time for three per cent more bytes, and a page's text is compressed at two hops.

Like `insides`, this holds for aiokafka 0.14 and 0.15. It knows nothing of what is sent.
"""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import Any, Final

from aiokafka import codec

_LEVEL: Final = 1
_WRITERS: Final = ("aiokafka.record.default_records", "aiokafka.record._crecords.default_records")
"""Who compresses batches; the second one is compiled, and missing where there is no wheel for a platform."""


def compress_lightly() -> None:
    """Have every producer of this process compress in this way; a second call changes nothing.

    The writers name the function in their own modules only, so that no single producer can be given another.
    """
    lightly = partial(codec.zstd_encode, level=_LEVEL)
    for name in _WRITERS:
        try:
            writer: Any = import_module(name)
        except ImportError:
            continue
        writer.zstd_encode = lightly
