"""What text are the bytes of a robots.txt?

UTF-8, as RFC 9309 has it; UTF-16 where a mark at the beginning or the server says so. Bytes that are no
UTF-8 are escaped as URLs escape them, so that a rule of an older encoding still means the URLs that
it meant. Whatever else a server says about the encoding is not heeded: it is the default of
a server far more often than the truth about a file.
"""

from __future__ import annotations

import re
from typing import Final

_UTF_8_MARK: Final = b"\xef\xbb\xbf"
_UTF_16: Final = ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
_NO_UTF_8: Final = re.compile("[\udc80-\udcff]")
_UTF_8_MARK_BYTES: Final = 3


def decode_robots(content: bytes, *, charset: str = "") -> str:
    """Give the text; NUL means nothing in it, and stores downstream do not take it."""
    for mark, name in _UTF_16:
        if content.startswith(mark):
            return content[len(mark) :].decode(name, "replace").replace("\x00", "")
    if charset.lower().replace("_", "-") in {"utf-16", "utf-16le", "utf-16be"}:
        name = "utf-16-be" if charset.lower().endswith("be") else "utf-16-le"
        return content.decode(name, "replace").replace("\x00", "")
    text = _without_byte_order_mark(content).decode("utf-8", "surrogateescape").replace("\x00", "")
    return _NO_UTF_8.sub(lambda found: f"%{ord(found[0]) - 0xDC00:02X}", text)


def _without_byte_order_mark(content: bytes) -> bytes:
    """Take off the mark of UTF-8, of which editors sometimes leave a part only."""
    for length in range(_UTF_8_MARK_BYTES, 0, -1):
        if content.startswith(_UTF_8_MARK[:length]):
            return content[length:]
    return content
