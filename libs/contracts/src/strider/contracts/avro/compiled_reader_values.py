"""What the functions of `codec_reading` call for all that is more than a line: numbers, lists, maps.

Each takes the bytes and a position and gives the value and where it ends, or raises where the bytes are
not as we write them. Knows no schema.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

ReadFunction = Callable[[bytes, int], tuple[Any, int]]
"""Gives the value that begins at a position, and where it ends; or raises anything at all.

The end may lie behind the end of the bytes: then they are too short, and the value is not all there.
"""

_CONTINUATION_BIT: Final = 0x80
"""The bit of a number's byte that says that another follows."""
_SEVEN_BITS: Final = 0x7F
_LAST_SHIFT: Final = 63
_MAX_UNSIGNED: Final = 1 << 64


class UnexpectedBytesError(Exception):
    """Bytes that are not as we write them, so that the library has to look at them."""


def _rest(value: bytes, at: int, first: int) -> tuple[int, int]:
    """Read on where a number has more than one byte; as it is written, the sign in its lowest bit."""
    number, shift = first & _SEVEN_BITS, 7
    while True:
        byte = value[at]
        at += 1
        number |= (byte & _SEVEN_BITS) << shift
        if byte < _CONTINUATION_BIT:
            break
        shift += 7
        if shift > _LAST_SHIFT:
            raise UnexpectedBytesError("a number without end")
    if number >= _MAX_UNSIGNED:
        raise UnexpectedBytesError("a number of more than 64 bits")
    return number, at


def _read_long(value: bytes, at: int) -> tuple[int, int]:
    """Read a number that has more than the one byte just behind us."""
    number, at = _rest(value, at, value[at - 1])
    return (number >> 1) ^ -(number & 1), at


def _count(value: bytes, at: int) -> tuple[int, int]:
    """Read how many items the one block of a list or map has."""
    count = value[at]
    at += 1
    if count >= _CONTINUATION_BIT:
        count, at = _rest(value, at, count)
    if count & 1:
        raise UnexpectedBytesError("a block that says its size")
    return count >> 1, at


def _end(value: bytes, at: int) -> int:
    """Step over the end of a list or map."""
    if value[at]:
        raise UnexpectedBytesError("a second block")
    return at + 1


def _texts(value: bytes, at: int) -> tuple[list[str], int]:
    """Read an array of texts, of which a page has hundreds."""
    count, at = _count(value, at)
    found: list[str] = []
    signs = 0
    for _ in range(count):
        size = value[at]
        at += 1
        if size >= _CONTINUATION_BIT:
            second = value[at]
            if second < _CONTINUATION_BIT:  # as most URLs have it
                size += (second << 7) - _CONTINUATION_BIT
                at += 1
            else:
                size, at = _rest(value, at, size)
        signs |= size
        end = at + (size >> 1)
        found.append(value[at:end].decode())
        at = end
    if signs & 1:
        raise UnexpectedBytesError("a text of less than no length")
    return found, _end(value, at)


def _skip_strings(value: bytes, at: int) -> int:
    count, at = _count(value, at)
    signs = 0
    for _ in range(count):
        size = value[at]
        at += 1
        if size >= _CONTINUATION_BIT:
            size, at = _rest(value, at, size)
        signs |= size
        at += size >> 1
    if signs & 1:
        raise UnexpectedBytesError("a text of less than no length")
    return _end(value, at)


def _numbers(value: bytes, at: int) -> tuple[list[int], int]:
    """Read an array of numbers, which mostly are small."""
    count, at = _count(value, at)
    single = value[at : at + count]
    if single.isascii():  # no number goes on in a second byte
        return [_SMALL[byte] for byte in single], _end(value, at + count)
    return _items(value, at, count, _number)


def _number(value: bytes, at: int) -> tuple[int, int]:
    first = value[at]
    return (_SMALL[first], at + 1) if first < _CONTINUATION_BIT else _read_long(value, at + 1)


def _items(value: bytes, at: int, count: int, read: ReadFunction) -> tuple[list[Any], int]:
    found: list[Any] = []
    for _ in range(count):
        item, at = read(value, at)
        found.append(item)
    return found, _end(value, at)


def _array(value: bytes, at: int, read: ReadFunction) -> tuple[list[Any], int]:
    count, at = _count(value, at)
    return _items(value, at, count, read)


def _map(value: bytes, at: int, read: ReadFunction) -> tuple[dict[str, Any], int]:
    count, at = _count(value, at)
    found: dict[str, Any] = {}
    for _ in range(count):
        name, at = _text(value, at)
        found[name], at = read(value, at)
    return found, _end(value, at)


def _text(value: bytes, at: int) -> tuple[str, int]:
    size, at = _count(value, at)
    return value[at : at + size].decode(), at + size


_SMALL: Final = tuple((number >> 1) ^ -(number & 1) for number in range(_CONTINUATION_BIT))
_SHORT: Final = _SMALL + (None,) * _CONTINUATION_BIT
"""By a number's first byte: what it is, or None where it goes on."""

READER_FUNCTIONS: Final[dict[str, Any]] = {
    "rest": _rest,
    "long": _read_long,
    "short": _SHORT,
    "booleans": (False, True),
    "double": Struct("<d").unpack_from,
    "texts": _texts,
    "step_over_texts": _skip_strings,
    "numbers": _numbers,
    "array": _array,
    "map_of": _map,
    "Odd": UnexpectedBytesError,
}
"""Under the names by which they are called."""
