"""Decode the bytes of a robots.txt to text.

UTF-8, as RFC 9309 requires; UTF-16 where a byte order mark or the server says so. Invalid UTF-8 bytes are
percent-encoded as in URLs, so that a rule in a legacy encoding still matches its URLs. Other charsets sent by
the server are ignored: they are more often a default of the server than a property of the file.
"""

from __future__ import annotations

import re
from typing import Final

_UTF_8_MARK: Final = b"\xef\xbb\xbf"
_UTF_16: Final = ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
_NO_UTF_8: Final = re.compile("[\udc80-\udcff]")
_UTF_8_MARK_BYTES: Final = 3


def decode_robots(content: bytes, *, charset: str = "") -> str:
    """Return the text without NUL, which has no meaning in it and which stores refuse."""
    for mark, name in _UTF_16:
        if content.startswith(mark):
            return content[len(mark) :].decode(name, "replace").replace("\x00", "")
    if charset.lower().replace("_", "-") in {"utf-16", "utf-16le", "utf-16be"}:
        name = "utf-16-be" if charset.lower().endswith("be") else "utf-16-le"
        return content.decode(name, "replace").replace("\x00", "")
    text = _without_byte_order_mark(content).decode("utf-8", "surrogateescape").replace("\x00", "")
    return _NO_UTF_8.sub(lambda found: f"%{ord(found[0]) - 0xDC00:02X}", text)


def _without_byte_order_mark(content: bytes) -> bytes:
    """Remove the UTF-8 byte order mark, of which editors sometimes leave only a part."""
    for length in range(_UTF_8_MARK_BYTES, 0, -1):
        if content.startswith(_UTF_8_MARK[:length]):
            return content[length:]
    return content
