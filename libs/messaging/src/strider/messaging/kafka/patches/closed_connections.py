"""Connections of the client library that report a closed transport as a broken connection.

uvloop refuses a write after the end of a connection and before the library notices it, with a RuntimeError
where asyncio's own transport is silent. No caller in the library expects that error: the task that refreshes
the cluster's metadata dies of it unseen, and every wait for metadata lasts for ever, although the broker is
back.

Like `internals`, this holds for AIOKAFKA_VERSION. It knows nothing of what is sent.
"""

from __future__ import annotations

from typing import Any

from aiokafka import conn as library
from aiokafka.errors import KafkaConnectionError

_Connection: Any = library.AIOKafkaConnection
_patched: Any = library


def install_closed_transport_handling() -> None:
    """Have every client of this process use these connections; a second call changes nothing.

    The library names the class in its own module only, so that no single client can be given another.
    """
    _patched.AIOKafkaConnection = ClosedTransportConnection


class ClosedTransportConnection(_Connection):  # type: ignore[misc]  # the library has no types
    """A connection that raises KafkaConnectionError for every failure to write."""

    def send(self, request: Any, expect_response: bool = True) -> Any:
        """Send a request, or raise that the connection is broken."""
        try:
            return super().send(request, expect_response)
        except RuntimeError as error:
            raise self._connection_error(error) from error

    def _send_sasl_token(self, payload: bytes, expect_response: bool = True) -> Any:
        try:
            return super()._send_sasl_token(payload, expect_response)
        except RuntimeError as error:
            raise self._connection_error(error) from error

    def _connection_error(self, error: RuntimeError) -> Exception:
        self.close(reason=library.CloseReason.CONNECTION_BROKEN, exc=error)
        return KafkaConnectionError(f"Connection at {self.host}:{self.port} closed: {error}")
