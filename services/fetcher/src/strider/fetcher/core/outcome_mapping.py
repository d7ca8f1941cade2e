"""Tables from error classes and HTTP statuses to fetch outcomes.

Exceptions become error classes in `adapters.http.error_mapping`; here the closed list of error classes, and
HTTP's status numbers, become the outcomes that the scheduler decides by. What follows from an outcome (a
retry, a pause of the host) is not decided here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from strider.contracts.generated.enums import ErrorCategory, ErrorClass, FetchOutcome

_NETWORK_ERRORS: Final = (
    *(ErrorClass.DNS_NOT_FOUND, ErrorClass.DNS_FAILED, ErrorClass.DNS_EMPTY, ErrorClass.DNS_LOOP),
    *(ErrorClass.CONNECT_REFUSED, ErrorClass.CONNECT_UNREACHABLE),
    *(ErrorClass.CONNECTION_RESET, ErrorClass.CONNECTION_CLOSED, ErrorClass.BODY_TRUNCATED),
    *(ErrorClass.TLS_EXPIRED, ErrorClass.TLS_WRONG_NAME, ErrorClass.TLS_UNTRUSTED, ErrorClass.TLS_FAILED),
)
_TIMEOUT_ERRORS: Final = (
    *(ErrorClass.DNS_TIMEOUT, ErrorClass.CONNECT_TIMEOUT, ErrorClass.TLS_TIMEOUT),
    *(ErrorClass.HEAD_TIMEOUT, ErrorClass.BODY_TIMEOUT, ErrorClass.TOTAL_TIMEOUT),
)
_PROTOCOL_ERRORS: Final = (
    *(ErrorClass.BAD_STATUS_LINE, ErrorClass.BAD_HEADER, ErrorClass.HEAD_TOO_LARGE, ErrorClass.BAD_FRAMING),
    *(ErrorClass.TOO_MANY_INFORMATIONAL, ErrorClass.TOO_MANY_ENCODINGS, ErrorClass.BAD_ENCODING),
)
_POLICY_ERRORS: Final = (
    *(ErrorClass.BAD_URL, ErrorClass.REFUSED_SCHEME, ErrorClass.REFUSED_PORT),
    *(ErrorClass.REFUSED_ADDRESS, ErrorClass.REFUSED_HOST, ErrorClass.NO_CONTACT),
)
_PROXY_ERRORS: Final = (ErrorClass.PROXY_UNREACHABLE, ErrorClass.PROXY_REFUSED, ErrorClass.PROXY_AUTH)

_OUTCOME_BY_ERROR: Final[Mapping[ErrorClass, tuple[FetchOutcome, ErrorCategory]]] = {
    **dict.fromkeys(_NETWORK_ERRORS, (FetchOutcome.NETWORK_FAILED, ErrorCategory.NETWORK)),
    **dict.fromkeys(_TIMEOUT_ERRORS, (FetchOutcome.TIMED_OUT, ErrorCategory.NETWORK)),
    **dict.fromkeys(_PROTOCOL_ERRORS, (FetchOutcome.PROTOCOL_ERROR, ErrorCategory.PROTOCOL)),
    **dict.fromkeys(_POLICY_ERRORS, (FetchOutcome.POLICY_BLOCKED, ErrorCategory.POLICY)),
    **dict.fromkeys(_PROXY_ERRORS, (FetchOutcome.PROXY_FAILED, ErrorCategory.NETWORK)),
    ErrorClass.TOO_SLOW: (FetchOutcome.TOO_SLOW, ErrorCategory.NETWORK),
    ErrorClass.BODY_TOO_LARGE: (FetchOutcome.TOO_LARGE, ErrorCategory.POLICY),
    ErrorClass.UNSUPPORTED_DOCUMENT: (FetchOutcome.UNSUPPORTED_TYPE, ErrorCategory.POLICY),
    ErrorClass.OFFLINE: (FetchOutcome.OFFLINE, ErrorCategory.NETWORK),
    ErrorClass.CANCELLED: (FetchOutcome.INTERRUPTED, ErrorCategory.INFRASTRUCTURE),
    ErrorClass.INTERNAL: (FetchOutcome.CRASHED, ErrorCategory.HANDLER),
}

_OUTCOME_BY_STATUS: Final[Mapping[int, FetchOutcome]] = {
    401: FetchOutcome.BLOCKED,
    403: FetchOutcome.BLOCKED,
    404: FetchOutcome.NOT_FOUND,
    410: FetchOutcome.NOT_FOUND,
    429: FetchOutcome.RATE_LIMITED,
    503: FetchOutcome.OVERLOADED,
}

_POSSIBLE_OUTAGE_ERRORS: Final = frozenset(
    {
        *(ErrorClass.DNS_NOT_FOUND, ErrorClass.DNS_FAILED, ErrorClass.DNS_EMPTY),
        *(ErrorClass.CONNECT_UNREACHABLE, ErrorClass.CONNECTION_RESET, ErrorClass.PROXY_UNREACHABLE),
        *_TIMEOUT_ERRORS,
    }
)

STATUS_NOT_MODIFIED: Final = 304
STATUS_PARTIAL_CONTENT: Final = 206


def outcome_of_error(error_class: ErrorClass) -> tuple[FetchOutcome, ErrorCategory]:
    """Return the outcome and category of an error class; an unlisted one is a fault of our own."""
    return _OUTCOME_BY_ERROR.get(error_class, (FetchOutcome.CRASHED, ErrorCategory.HANDLER))


def may_be_local_outage(error_class: ErrorClass) -> bool:
    """Whether the loss of our own network would look like this error too."""
    return error_class in _POSSIBLE_OUTAGE_ERRORS


def outcome_of_status(status: int) -> tuple[FetchOutcome, ErrorClass | None]:
    """Return the outcome and error class of a status that is neither a redirect nor 304.

    Partial content (206) is odd, as no range was requested. Numbers beyond 599 mean the same as 5xx (RFC
    9110, 15).
    """
    if 200 <= status < 300 and status != STATUS_PARTIAL_CONTENT:  # noqa: PLR2004  # HTTP's own numbers
        return FetchOutcome.FETCHED, None
    if 400 <= status < 500:  # noqa: PLR2004
        return _OUTCOME_BY_STATUS.get(status, FetchOutcome.CLIENT_ERROR), ErrorClass.STATUS_CLIENT
    if status >= 500:  # noqa: PLR2004
        return _OUTCOME_BY_STATUS.get(status, FetchOutcome.SERVER_ERROR), ErrorClass.STATUS_SERVER
    return FetchOutcome.ODD_STATUS, None
