"""How much memory a message may come to when it is read, before it is read.

A few bytes can be many small records. For most schemas the length of a message bounds what it
costs; where it does not, the bytes are walked once and counted, and the message is refused when it
would cost more than the budget. Nothing is built on the way.
"""

from __future__ import annotations

from typing import Final

from strider.contracts.errors import DecodeError

from .schema_model import SchemaNode

MEMORY_BUDGET_BYTES: Final = 64 * 1024 * 1024
"""What reading one message may take at the most, for a moment."""

_RECORD_BYTES: Final = 2 * 232
"""A dict, and the object that is made of it; each field adds to both."""
_FIELD_BYTES: Final = 2 * 64
_ENTRY_BYTES: Final = 8 + 104
"""Room for an item in its list or map."""
_TEXT_RATIO: Final = 24
"""A string of two letters takes three bytes on the wire and some sixty in memory; longer ones less."""

_FIXED_WIDTH: Final = {"float": 4, "double": 8, "boolean": 1}
_MAX_VARINT_BYTES: Final = 10
_CONTINUATION_BIT: Final = 0x80
"""The bit of a number's byte that says that another follows."""


def max_memory_ratio(node: SchemaNode) -> float:
    """Bound how many bytes of memory one byte of a message can become."""
    ratios = [float(_TEXT_RATIO), *(max_memory_ratio(part) for part in _children(node))]
    if node.kind in ("array", "map"):
        ratios.append(item_bytes(node.children[0]) / max(1, node.children[0].min_bytes))
    return max(ratios)


def item_bytes(node: SchemaNode) -> int:
    """Estimate what the smallest value of a type costs as an item of a list."""
    own = _RECORD_BYTES + _FIELD_BYTES * len(node.fields) if node.kind == "record" else 0
    children = 0 if node.kind == "union" else sum(item_bytes(field.node) for field in node.fields)
    return _ENTRY_BYTES * (node.kind != "null") + own + children


def require_within_memory_budget(node: SchemaNode, value: bytes, start: int) -> None:
    """Count what the items of a message will cost; raises DecodeError when that is over the budget."""
    _Walk(value, start).step(node)


def _children(node: SchemaNode) -> tuple[SchemaNode, ...]:
    return (*node.children, *(field.node for field in node.fields))


class _Walk:
    """A position in the bytes, and what the items met so far will cost."""

    def __init__(self, value: bytes, start: int) -> None:
        self._value = value
        self._at = start
        self._cost = 0

    def step(self, node: SchemaNode) -> None:
        """Walk over one value."""
        if node.kind == "record":
            for field in node.fields:
                self.step(field.node)
        elif node.kind == "union":
            branch = self._number()
            if not 0 <= branch < len(node.children):
                raise DecodeError("bad_value", f"branch {branch} of a union of {len(node.children)}")
            self.step(node.children[branch])
        elif node.kind in ("array", "map"):
            self._add_blocks(node)
        elif node.kind in ("string", "bytes"):
            self._skip(self._number())
        elif node.kind in ("int", "long", "enum"):
            self._number()
        else:
            self._skip(_FIXED_WIDTH.get(node.kind, node.size))

    def _add_blocks(self, node: SchemaNode) -> None:
        item = node.children[0]
        cost = item_bytes(item)
        while count := self._number():
            if count < 0:
                count = -count
                self._number()  # the block's size in bytes, of no use here
            for _ in range(count):
                self._cost += cost
                if self._cost > MEMORY_BUDGET_BYTES:
                    raise DecodeError(
                        "too_large", f"its items need over {MEMORY_BUDGET_BYTES >> 20} MiB of memory"
                    )
                if node.kind == "map":
                    self._skip(self._number())
                self.step(item)

    def _skip(self, length: int) -> None:
        if length < 0:
            raise DecodeError("bad_value", f"a length of {length}")
        self._at += length
        if self._at > len(self._value):
            raise DecodeError("truncated", f"{self._at - len(self._value)} bytes are missing")

    def _number(self) -> int:
        number = 0
        for position in range(_MAX_VARINT_BYTES):
            if self._at >= len(self._value):
                raise DecodeError("truncated", "the bytes end within a number")
            byte = self._value[self._at]
            self._at += 1
            number |= (byte & 0x7F) << 7 * position
            if byte < _CONTINUATION_BIT:
                return (number >> 1) ^ -(number & 1)
        raise DecodeError("bad_value", f"a number of more than {_MAX_VARINT_BYTES} bytes")
