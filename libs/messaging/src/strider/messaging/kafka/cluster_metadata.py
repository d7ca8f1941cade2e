"""The identity of a Kafka cluster: its id, and the id of one of its topics.

The library knows the metadata request up to version 5, which has no ids of topics; version 12 has them, since
Kafka 3.1. Decides only what the two ids are joined to: an older broker gives the id of the cluster alone.
"""

from __future__ import annotations

import uuid
from io import BytesIO
from typing import Any, Final

from aiokafka.protocol.abstract import AbstractType
from aiokafka.protocol.api import Request, RequestStruct, Response
from aiokafka.protocol.metadata import MetadataRequest_v5
from aiokafka.protocol.types import (
    Boolean,
    CompactArray,
    CompactString,
    Int16,
    Int32,
    Schema,
    TaggedFields,
)

from .error_mapping import raise_for_code

_UUID_BYTES: Final = 16
_NO: Final = False
"""Create no topic; list no permissions."""
_NO_TOPIC_ID: Final = uuid.UUID(int=0)


class _Uuid(AbstractType[uuid.UUID]):
    @classmethod
    def encode(cls, value: uuid.UUID) -> bytes:
        return value.bytes

    @classmethod
    def decode(cls, data: BytesIO) -> uuid.UUID:
        return uuid.UUID(bytes=data.read(_UUID_BYTES))


class _MetadataResponse(Response):
    API_KEY = 3
    API_VERSION = 12
    SCHEMA = Schema(
        ("throttle_time_ms", Int32),
        (
            "brokers",
            CompactArray(
                ("node_id", Int32),
                ("host", CompactString("utf-8")),
                ("port", Int32),
                ("rack", CompactString("utf-8")),
                ("tags", TaggedFields),
            ),
        ),
        ("cluster_id", CompactString("utf-8")),
        ("controller_id", Int32),
        (
            "topics",
            CompactArray(
                ("error_code", Int16),
                ("topic", CompactString("utf-8")),
                ("topic_id", _Uuid),
                ("is_internal", Boolean),
                (
                    "partitions",
                    CompactArray(
                        ("error_code", Int16),
                        ("partition", Int32),
                        ("leader", Int32),
                        ("leader_epoch", Int32),
                        ("replicas", CompactArray(Int32)),
                        ("isr", CompactArray(Int32)),
                        ("offline_replicas", CompactArray(Int32)),
                        ("tags", TaggedFields),
                    ),
                ),
                ("authorized_operations", Int32),
                ("tags", TaggedFields),
            ),
        ),
        ("tags", TaggedFields),
    )


class _MetadataRequest(RequestStruct):
    FLEXIBLE_VERSION = True
    API_KEY = 3
    API_VERSION = 12
    RESPONSE_TYPE = _MetadataResponse
    SCHEMA = Schema(
        (
            "topics",
            CompactArray(("topic_id", _Uuid), ("topic", CompactString("utf-8")), ("tags", TaggedFields)),
        ),
        ("allow_auto_topic_creation", Boolean),
        ("include_topic_authorized_operations", Boolean),
        ("tags", TaggedFields),
    )


class ClusterIdentityRequest(Request[MetadataRequest_v5 | _MetadataRequest]):
    """Requests the metadata of one topic."""

    API_KEY = 3

    def __init__(self, topic: str) -> None:
        self._topic = topic

    def build(
        self, request_struct_class: type[MetadataRequest_v5 | _MetadataRequest]
    ) -> MetadataRequest_v5 | _MetadataRequest:
        """Build the request in the version that the broker knows."""
        if request_struct_class.API_VERSION == _MetadataRequest.API_VERSION:
            return request_struct_class([(_NO_TOPIC_ID, self._topic, {})], _NO, _NO, {})
        return request_struct_class([self._topic], _NO)


def identity_of(answer: Any, topic: str) -> str:
    """Return the identity in a response; raises Unavailable where the topic is not there."""
    [described] = answer.topics
    raise_for_code(described[0], doing=f"looking up {topic}")
    topic_id = described[2] if answer.API_VERSION == _MetadataResponse.API_VERSION else _NO_TOPIC_ID
    return f"{answer.cluster_id}/{topic_id.hex}" if topic_id != _NO_TOPIC_ID else str(answer.cluster_id)
