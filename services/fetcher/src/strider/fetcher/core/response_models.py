"""Values for the result of a request: response, failure, trace.

Adapters make these out of sockets and libraries; every decision about a request is made from them. Nothing
here knows which HTTP library was used.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import field
from types import MappingProxyType
from typing import Final, Protocol, TypeAlias

from strider.contracts.fast_dataclass import fast_dataclass
from strider.contracts.generated.enums import ErrorClass

_LOCATION: Final = b"location"
_NON_ASCII_BYTE: Final = re.compile(rb"[\x80-\xff]")
_NO_HEADERS: Final = MappingProxyType[str, str]({})


@fast_dataclass(frozen=True, slots=True)
class ResponseHead:
    """Status and headers of a response."""

    status: int
    http_version: str = "1.1"
    header_names: tuple[str, ...] = ()
    header_values: tuple[str, ...] = ()
    """As sent, in order."""
    headers: dict[str, str] | MappingProxyType[str, str] = field(default_factory=lambda: _NO_HEADERS)
    """By lower-case name; repeated ones are joined by commas."""

    def get(self, lower_name: str) -> str:
        """Return a header's value by its lower-case name; empty if it was not sent."""
        return self.headers.get(lower_name, "")

    def get_all(self, lower_name: str) -> list[str]:
        """Return every value of a header by its lower-case name: not every header is a list."""
        if lower_name not in self.headers:
            return []
        pairs = zip(self.header_names, self.header_values, strict=True)
        return [value.strip() for each_name, value in pairs if each_name.lower() == lower_name]


def decode_head(
    status: int, raw_headers: Sequence[tuple[bytes, bytes]], *, http_version: str = "1.1"
) -> ResponseHead:
    """Decode raw headers: UTF-8 if valid, otherwise each byte is the character of its number.

    A Location that is not UTF-8 is percent-encoded byte by byte, so that exactly these bytes are requested.
    """
    names = tuple(name.decode("latin-1") for name, _ in raw_headers)
    values = tuple(map(_decode_value, raw_headers))
    fields: dict[str, str] = {}
    for name, value in zip(names, values, strict=True):
        lower = name.lower()
        fields[lower] = f"{fields[lower]}, {value}" if lower in fields else value
    return ResponseHead(status, http_version, names, values, fields)


def _decode_value(header: tuple[bytes, bytes]) -> str:
    name, value = header
    try:
        return value.decode()
    except UnicodeDecodeError:
        if name.lower() == _LOCATION:
            return _NON_ASCII_BYTE.sub(lambda match: b"%%%02X" % match[0][0], value).decode("ascii")
        return value.decode("latin-1")


@fast_dataclass(frozen=True, slots=True)
class FetchedResponse:
    """A response that was read to its end, or as far as it was wanted."""

    head: ResponseHead
    body: bytes = b""
    """As sent, still compressed; empty if it is not kept."""
    body_bytes: int = 0
    """How many bytes of the body were read."""
    is_truncated: bool = False
    """Whether the rest of the body was left unread because of a limit."""
    final_url: str = ""
    """The URL that responded in the end, if redirects were followed."""
    redirect_chain: tuple[str, ...] = ()
    """The URLs that redirected there, if redirects were followed."""


@fast_dataclass(frozen=True, slots=True)
class FailedFetch:
    """A request without a response, or with one that cannot be used."""

    error_class: ErrorClass
    message: str = ""
    """For people."""
    head: ResponseHead | None = None
    """Set if the response had begun."""
    body_bytes: int = 0
    redirect_chain: tuple[str, ...] = ()
    """The URLs that redirected to the one that failed, if redirects were followed."""


FetchResult: TypeAlias = FetchedResponse | FailedFetch
"""Result of a request: a response, or how it failed."""


@fast_dataclass(frozen=True, slots=True)
class RequestTrace:
    """Trace of a request. Times are of Redis's clock in microseconds, or durations."""

    marked_at_us: int
    completed_at_us: int
    started_at_us: int = 0
    """When the head was written; 0 if it was not."""
    worker_id: str = ""
    user_agent: str = ""
    is_before_connect: bool = False
    remote_address: str = ""
    proxy: str = ""
    """URL of the proxy that was used, without credentials; empty for none."""
    cookies_changed: bool = False
    """Whether the response changed the run's cookie jar."""
    is_connection_reused: bool = False
    is_tls_verified: bool = True
    dns_us: int = 0
    connect_us: int = 0
    tls_us: int = 0
    ttfb_us: int = 0
    total_us: int = 0


class HeldBody(Protocol):
    """Budget of a body's bytes, while they are in memory."""

    def release(self) -> None:
        """Return the bytes to the budget."""


@fast_dataclass(frozen=True, slots=True)
class FinishedRequest:
    """A request that has ended."""

    result: FetchResult
    trace: RequestTrace
    held_body: HeldBody
    """Budget of the body's bytes; to be released once the page is published."""
    ended_at: float
    """In monotonic seconds."""
