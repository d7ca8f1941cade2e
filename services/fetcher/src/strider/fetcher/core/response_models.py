"""What came back, as values: an answer with its head, or how it failed.

Adapters make these out of sockets and libraries; everything that is decided about a request is
decided from them. Nothing here knows which library asked.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import field
from types import MappingProxyType
from typing import Final

from strider.contracts.fast_dataclass import fast_dataclass
from strider.contracts.generated.enums import ErrorClass

_LOCATION: Final = b"location"
_NON_ASCII_BYTE: Final = re.compile(rb"[\x80-\xff]")
_NO_HEADERS: Final = MappingProxyType[str, str]({})


@fast_dataclass(frozen=True, slots=True)
class ResponseHead:
    """Status and headers of an answer."""

    status: int
    http_version: str = "1.1"
    header_names: tuple[str, ...] = ()
    header_values: tuple[str, ...] = ()
    """As sent, in order."""
    headers: dict[str, str] | MappingProxyType[str, str] = field(default_factory=lambda: _NO_HEADERS)
    """By lower-case name; what was sent several times is joined by commas."""

    def get(self, lower_name: str) -> str:
        """Give a header's value by its lower-case name; empty where it was not sent."""
        return self.headers.get(lower_name, "")

    def get_all(self, lower_name: str) -> list[str]:
        """Give a header's values one by one, as often as it was sent: not every header is a list."""
        if lower_name not in self.headers:
            return []
        pairs = zip(self.header_names, self.header_values, strict=True)
        return [value.strip() for each, value in pairs if each.lower() == lower_name]


def head_of(
    status: int, raw_headers: Sequence[tuple[bytes, bytes]], *, http_version: str = "1.1"
) -> ResponseHead:
    """Make a head of bytes: UTF-8 where they are, else each byte is the character of its number.

    A place that is no UTF-8 means these very bytes, as its server would have them asked for.
    """
    names = tuple(name.decode("latin-1") for name, _ in raw_headers)
    values = tuple(map(_text, raw_headers))
    fields: dict[str, str] = {}
    for name, value in zip(names, values, strict=True):
        lower = name.lower()
        fields[lower] = f"{fields[lower]}, {value}" if lower in fields else value
    return ResponseHead(status, http_version, names, values, fields)


def _text(header: tuple[bytes, bytes]) -> str:
    name, value = header
    try:
        return value.decode()
    except UnicodeDecodeError:
        if name.lower() == _LOCATION:
            return _NON_ASCII_BYTE.sub(lambda found: b"%%%02X" % found[0][0], value).decode("ascii")
        return value.decode("latin-1")


@fast_dataclass(frozen=True, slots=True)
class FetchedResponse:
    """An answer that came to its end, or as far as it was wanted."""

    head: ResponseHead
    body: bytes = b""
    """As sent, still encoded; empty where nobody wants it."""
    body_bytes: int = 0
    """How much of the body was read."""
    is_cut: bool = False
    """Whether the rest of the body was left unread, because a limit says how much is wanted."""
    final_url: str = ""
    """Who answered in the end, where redirects were followed."""
    redirect_chain: tuple[str, ...] = ()
    """The URLs that redirected there, where they were followed."""


@fast_dataclass(frozen=True, slots=True)
class FailedFetch:
    """No answer, or one that nobody may use."""

    error_class: ErrorClass
    message: str = ""
    """For people."""
    head: ResponseHead | None = None
    """Where the answer had begun."""
    body_bytes: int = 0
    redirect_chain: tuple[str, ...] = ()
    """The URLs that redirected to where it failed, where they were followed."""


@fast_dataclass(frozen=True, slots=True)
class RequestTrace:
    """How a request was made, whatever came of it. Times are of the one clock, or differences."""

    marked_at_us: int
    completed_at_us: int
    started_at_us: int = 0
    """When the head was written; 0 where it was not."""
    worker_id: str = ""
    user_agent: str = ""
    is_before_connect: bool = False
    remote_address: str = ""
    proxy: str = ""
    """By way of whom; empty for nobody."""
    cookies_changed: bool = False
    """Whether the answer changed the run's cookie jar."""
    is_connection_reused: bool = False
    is_tls_verified: bool = True
    dns_us: int = 0
    connect_us: int = 0
    tls_us: int = 0
    ttfb_us: int = 0
    total_us: int = 0
