"""Mapping of the client library's errors to ours: the one table.

Whatever means "the broker did not do it, but may do so later" is Unavailable, failed logins and missing
permissions included: they heal without us, and readiness says why. Codes that the library does not know
arrive as its UnknownError and are treated the same way.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from aiokafka import errors as library

from strider.contracts import EncodeError
from strider.messaging.errors import (
    InfrastructureError,
    PartitionNotOwned,
    ShardFenced,
    StartRefused,
    Unavailable,
)

DEPENDENCY: Final = "kafka"

FENCING_ERRORS: Final[tuple[type[Exception], ...]] = (
    library.ProducerFenced,
    library.InvalidProducerEpoch,
    library.TransactionCoordinatorFenced,
)
NOT_OWNED_ERRORS: Final[tuple[type[Exception], ...]] = (
    library.CommitFailedError,
    library.IllegalGenerationError,
    library.UnknownMemberIdError,
    library.RebalanceInProgressError,
    library.IllegalStateError,
)
UNSENDABLE_ERRORS: Final[tuple[type[Exception], ...]] = (
    library.MessageSizeTooLargeError,
    library.RecordListTooLargeError,
    library.InvalidTimestampError,
)
REFUSAL_ERRORS: Final[tuple[type[Exception], ...]] = (
    library.InvalidSessionTimeoutError,
    library.InvalidGroupIdError,
    library.InconsistentGroupProtocolError,
    library.InvalidTopicError,
    library.InvalidTransactionTimeout,
    library.UnsupportedVersionError,
    library.IncompatibleBrokerVersion,
    library.UnsupportedCodecError,
    library.KafkaConfigurationError,
)

UNNAMED_CODES: Final = {
    82: "another member uses this group instance id",
    87: "the broker refused the record",
    89: "the broker is throttling",
    90: "a newer producer owns this transactional id",
}
"""Codes that the library names UnknownError, in words where the code is known."""

FENCED_CODES: Final = frozenset({47, 90})
"""INVALID_PRODUCER_EPOCH and PRODUCER_FENCED; the library knows only the first."""

_ATTEMPTED_ADDRESS: Final = re.compile(r"""\(['"](.*?)['"], (\d+), """)
"""Host and port in the library's list of the addresses it has tried."""


def map_error(error: Exception, *, shard: int | None = None) -> Exception:
    """Return our error for an error of the library."""
    if isinstance(error, InfrastructureError | EncodeError):
        return error
    if isinstance(error, FENCING_ERRORS):
        return Unavailable(DEPENDENCY, describe_error(error)) if shard is None else ShardFenced(shard)
    if isinstance(error, NOT_OWNED_ERRORS):
        return PartitionNotOwned(describe_error(error))
    if isinstance(error, UNSENDABLE_ERRORS):
        return EncodeError(f"the broker does not take this message: {describe_error(error)}")
    if isinstance(error, REFUSAL_ERRORS):
        return StartRefused(f"kafka refuses: {describe_error(error)}")
    return Unavailable(DEPENDENCY, describe_error(error))


def describe_error(error: BaseException) -> str:
    """Describe an error in one line that is never empty."""
    name = type(error).__name__
    # The library's errors begin with their own name already.
    text = str(error).strip().removeprefix(f"{name}: ")
    if isinstance(error, library.KafkaConnectionError) and (tried := _ATTEMPTED_ADDRESS.findall(text)):
        where = broker_addresses(f"{host}:{port}" for host, port in tried)
        # The library does not say which of these it was.
        return f"no broker answers at {where}, or it refuses our login or certificate"
    return f"{name}: {text}" if text and text != name else name


def broker_addresses(servers: Iterable[str]) -> str:
    """Return brokers as host:port, sorted, without credentials."""
    return ", ".join(sorted({_bracketed(server.rpartition("@")[2]) for server in servers}))


def _bracketed(server: str) -> str:
    host, _, port = server.rpartition(":")
    return f"[{host}]:{port}" if ":" in host and not host.startswith("[") else server


class mapped_errors:  # noqa: N801  # reads as what it does
    """Maps whatever the library raises within to one of our errors; cancellation passes untouched.

    `at` names the servers of the request, where the system's own errors would not. A class, because a
    generator's context costs several times as much, and each message that is sent passes through one.
    """

    __slots__ = ("_at", "_shard")

    def __init__(self, *, shard: int | None = None, at: Iterable[str] = ()) -> None:
        self._shard = shard
        self._at = at

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(
        self, _kind: type[BaseException] | None, error: BaseException | None, _trace: object
    ) -> None:
        """Raise our error for the library's."""
        if error is None:
            return
        if isinstance(error, library.KafkaError | library.IllegalOperation | library.ConsumerStoppedError):
            raise map_error(error, shard=self._shard) from error
        if isinstance(error, TimeoutError | OSError):
            raise Unavailable(DEPENDENCY, _no_response_text(error, self._at)) from error


def _no_response_text(error: TimeoutError | OSError, at: Iterable[str]) -> str:
    place = broker_addresses(at)
    if not place:
        return describe_error(error)
    timely = isinstance(error, TimeoutError) and not str(error)
    why = "in time" if timely else f"({describe_error(error)})"
    return f"no broker answers at {place} {why}"


def raise_for_code(code: int, *, doing: str) -> None:
    """Raise Unavailable for an error code in a response that we read ourselves."""
    if code:
        kind: Any = library.for_code(code)
        meaning = UNNAMED_CODES.get(code, kind.__name__)
        raise Unavailable(DEPENDENCY, f"{doing}: code {code}, {meaning}")
