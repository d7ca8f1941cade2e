"""Requests about permissions and quotas, for which the client library has no calls.

The library has the frames of most of them and no call; a request that changes quotas it does not know at all.
"""

# ruff: noqa: SLF001  # as in `internals`: the administrator's connection is the library's own

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aiokafka.protocol.admin import CreateAclsRequest_v1, DeleteAclsRequest_v1
from aiokafka.protocol.api import Request, RequestStruct, Response
from aiokafka.protocol.types import Array, Boolean, Float64, Int16, Int32, Schema, String


class CreateAcls(Request[CreateAclsRequest_v1]):
    """Creation of many permissions; the library's own request takes one."""

    API_KEY = 30

    def __init__(self, acls: Sequence[tuple[int, str, int, str, str, int, int]]) -> None:
        self._acls = list(acls)

    def build(self, request_struct_class: type[CreateAclsRequest_v1]) -> CreateAclsRequest_v1:
        """Return the frame."""
        return request_struct_class(self._acls)


class DeleteAcls(Request[DeleteAclsRequest_v1]):
    """Deletion of many permissions."""

    API_KEY = 31

    def __init__(self, filters: Sequence[tuple[int, str, int, str, str, int, int]]) -> None:
        self._filters = list(filters)

    def build(self, request_struct_class: type[DeleteAclsRequest_v1]) -> DeleteAclsRequest_v1:
        """Return the frame."""
        return request_struct_class(self._filters)


class _AlterQuotasResponse(Response):
    API_KEY = 49
    API_VERSION = 0
    SCHEMA = Schema(
        ("throttle_time_ms", Int32),
        (
            "entries",
            Array(
                ("error_code", Int16),
                ("error_message", String("utf-8")),
                ("entity", Array(("entity_type", String("utf-8")), ("entity_name", String("utf-8")))),
            ),
        ),
    )


class _AlterQuotasStruct(RequestStruct):
    API_KEY = 49
    API_VERSION = 0
    RESPONSE_TYPE = _AlterQuotasResponse
    SCHEMA = Schema(
        (
            "entries",
            Array(
                ("entity", Array(("entity_type", String("utf-8")), ("entity_name", String("utf-8")))),
                ("ops", Array(("key", String("utf-8")), ("value", Float64), ("remove", Boolean))),
            ),
        ),
        ("validate_only", Boolean),
    )


class AlterUserQuotas(Request[_AlterQuotasStruct]):
    """Quotas by user; the user None stands for all that have none of their own."""

    API_KEY = 49

    def __init__(self, quotas: Sequence[tuple[str | None, str, float]]) -> None:
        self._quotas = quotas

    def build(self, request_struct_class: type[_AlterQuotasStruct]) -> _AlterQuotasStruct:
        """Return the frame."""
        entries = [([("user", user)], [(key, value, False)]) for user, key, value in self._quotas]
        return request_struct_class(entries, False)  # noqa: FBT003  # the library's own shape


async def send_to_any(admin: Any, request: Any) -> Any:
    """Send a request to some broker, which forwards it to the controller where it must."""
    client = admin._client
    return await client.send(client.get_random_node(), request)
