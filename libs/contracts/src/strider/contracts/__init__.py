"""What travels: every event, topic, key and framing, generated from schemas/."""

from .errors import ContractError, DecodeError, EncodeError, UnknownSchema
from .topic import Event, Topic

__all__ = ["ContractError", "DecodeError", "EncodeError", "Event", "Topic", "UnknownSchema"]
