"""Message contracts: every event, topic, key and framing, generated from `schemas/`.

Events are in `strider.contracts.generated.events`, topics in `….generated.topics`, enums of allowed values in
`….generated.enums`.
"""

from typing import TYPE_CHECKING, Any

from .errors import ContractError, DecodeError, EncodeError, UnknownSchema
from .topic import Event, Topic, TopicReader

if TYPE_CHECKING:
    from .generated.topics import TOPICS, dlq

__all__ = [
    "TOPICS",
    "ContractError",
    "DecodeError",
    "EncodeError",
    "Event",
    "Topic",
    "TopicReader",
    "UnknownSchema",
    "dlq",
]


def __getattr__(name: str) -> Any:
    # Loaded on first use: the code generator is part of this package and must run when its output is broken.
    if name in ("TOPICS", "dlq"):
        from .generated import topics  # noqa: PLC0415  # see above

        return getattr(topics, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
