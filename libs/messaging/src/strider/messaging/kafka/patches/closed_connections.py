"""The client library's connections, made to take a transport that has closed for a broken connection.

uvloop refuses a write between the end of a connection and the turn of the loop in which the library
hears of it, with a RuntimeError where asyncio's own transport says nothing. No caller in the library
expects that one: the task that follows the cluster's metadata dies of it, unseen, and whoever waits
for metadata waits for ever, with the broker long back.

Like `insides`, this holds for aiokafka 0.14 and 0.15. It knows nothing of what is sent.
"""

from __future__ import annotations

from typing import Any

from aiokafka import conn as library
from aiokafka.errors import KafkaConnectionError

_Connection: Any = library.AIOKafkaConnection
_patched: Any = library


def install_closed_transport_handling() -> None:
    """Have every client of this process connect in this way; a second call changes nothing.

    The library names the class in its own module only, so that no single client can be given another.
    """
    _patched.AIOKafkaConnection = ClosedTransportConnection


class ClosedTransportConnection(_Connection):  # type: ignore[misc]  # the library has no types
    """A connection whose every failure to write is one that its callers know."""

    def send(self, request: Any, expect_response: bool = True) -> Any:
        """Send a request, or say that the connection is broken."""
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
