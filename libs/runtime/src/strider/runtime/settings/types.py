"""Types of setting values: durations with units, lists, addresses, checked texts.

Knows how one value is parsed, refused and shown, and nothing of which settings there are. An invalid address
is never quoted, since it may carry a password.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable
from typing import Annotated, Any, Final, NamedTuple
from urllib.parse import parse_qs, urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr

from strider.contracts.owner_signature import MIN_KEY_CHARS


class EnvironmentVariable(NamedTuple):
    """Name of a field's environment variable, where prefix and field name do not give it."""

    name: str


class RequiredAddress(NamedTuple):
    """Marks an address that every service needs: an empty value does not mean the default."""


class SecretUrl(SecretStr):
    """An address that may carry secrets: shown without them, never hidden as a whole."""

    def _display(self) -> str:
        return hide_secrets(self.get_secret_value())


_DURATION = re.compile(r"(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>ms|s|m|h|d)?", re.ASCII)
_UNITS: Final = {"ms": 0.001, None: 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_HOST_AND_PORT = re.compile(r"(?:\[[0-9A-Fa-f:.]+(?:%\w+)?\]|[\w.%-]+):(?P<port>[0-9]{1,5})")
_MAIL = re.compile(r"[^@\s<>]+@[\w.-]+")
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_MAX_PORT: Final = 65_535
_ESCAPE_HINT: Final = "escape special characters in a password, such as / as %2F"
_USERINFO = re.compile(r"(?P<start>://[^/?#@:\s]*):[^?#\s]{0,1024}@")
"""A slash in a password should be escaped, and often is not. Bounded, so that no text takes long."""


def hide_password(text: str) -> str:
    """Replace the passwords of the URLs in a text by stars; anything else stays as it is."""
    return _USERINFO.sub(r"\g<start>:***@", text)


def hide_secrets(address: str) -> str:
    """Hide what may be secret in one address: its password, and the values of its query.

    Where it is not clear what belongs to the password, more is hidden and not less.
    """
    scheme, parted, rest = address.partition("://") if "://" in address else ("", "", address)
    account, at, place = rest.rpartition("@")
    user, colon, _ = account.partition(":")
    shown = f"{scheme}{parted}{user}:***{at}{place}" if colon else address
    before, mark, query = shown.partition("?")
    if not mark:
        return shown
    pairs = (part.partition("=") for part in query.split("&"))
    return f"{before}?{'&'.join(f'{name}=***' if equals else '***' for name, equals, _ in pairs)}"


def parse_duration(value: Any) -> Any:
    """Parse `300`, `300s`, `5m`, `250ms`, `1h` or `1d` as seconds."""
    if not isinstance(value, str):
        return value
    found = _DURATION.fullmatch(value.strip())
    if found is None:
        raise ValueError("must be a duration such as 300, 300s, 5m or 250ms")
    return float(found["number"]) * _UNITS[found["unit"]]


def split_words(value: Any) -> Any:
    """Split `a, b c` into three values, so that a list fits into one variable."""
    return tuple(re.split(r"[,\s]+", value.strip())) if isinstance(value, str) else value


def lowercase(value: Any) -> Any:
    """Return a text in lower case."""
    return value.lower() if isinstance(value, str) else value


def uppercase(value: Any) -> Any:
    """Return a text in upper case."""
    return value.upper() if isinstance(value, str) else value


def require_endpoints(servers: tuple[str, ...]) -> tuple[str, ...]:
    """Refuse what is no endpoint, host:port; an item that may hold a password is counted, not quoted."""
    may_quote = not any("@" in server for server in servers)
    for at, server in enumerate(servers, start=1):
        found = _HOST_AND_PORT.fullmatch(server)
        if found is None or not 1 <= int(found["port"]) <= _MAX_PORT:
            what = repr(server[:80]) if may_quote else f"item {at}"
            raise ValueError(f"must be host:port, several separated by commas; {what} is not")
    return servers


def require_address(*schemes: str) -> Callable[[SecretUrl], SecretUrl]:
    """Return a check that an address is empty, or has one of the schemes and a host."""
    wanted = " or ".join(f"{scheme}://" for scheme in schemes)

    def check(address: SecretUrl) -> SecretUrl:
        text = address.get_secret_value()
        if not text:
            return address
        if " " in text or _UNPRINTABLE.search(text):
            raise ValueError("must be an address without blanks and control characters")
        scheme, parted, _ = text.partition("://")
        if not parted or scheme.lower() not in schemes:
            raise ValueError(f"must be an address that begins with {wanted}")
        if not _has_host(text):
            raise ValueError(f"must be an address with a host and a valid port ({_ESCAPE_HINT})")
        return address

    return check


def _has_host(address: str) -> bool:
    """Whether there is a host, a folder or a socket. PostgreSQL takes several hosts, separated by commas."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    hosts = parts.netloc.rpartition("@")[2]
    if parts.scheme in ("file", "unix"):
        return hosts in ("", "localhost") and len(parts.path) > 1
    if not hosts:
        return parts.scheme.startswith("postgres") and "host" in parse_qs(parts.query)
    return all(_is_host(host) for host in hosts.split(","))


def _is_host(host: str) -> bool:
    name, port = host, ""
    if not host.endswith("]") and ":" in host:
        name, _, port = host.rpartition(":")
    is_port = not port or (port.isascii() and port.isdigit() and int(port[:6]) <= _MAX_PORT)
    return is_port and _HOST_AND_PORT.fullmatch(f"{name}:1") is not None


def require_file(path: str) -> str:
    """Refuse a file that cannot be read, by name: its library would not name it later."""
    if path and not (os.path.isfile(path) and os.access(path, os.R_OK)):  # noqa: PTH113  # no path is made of it
        raise ValueError(f"cannot read file {path}")
    return path


def require_contact(contact: str) -> str:
    """Refuse a contact that is neither a web nor a mail address."""
    require_printable(contact)
    address = contact.removeprefix("mailto:")
    is_web = contact.lower().startswith(("http://", "https://")) and _has_host(contact)
    if contact and not is_web and not _MAIL.fullmatch(address):
        raise ValueError(
            "must be a URL or a mail address, such as https://example.org/bot or bot@example.org"
        )
    return contact


def require_printable(text: str) -> str:
    """Refuse control characters: the text becomes part of a header line."""
    if _UNPRINTABLE.search(text):
        raise ValueError("must not contain control characters")
    return text


def require_owner_key(key: SecretStr) -> SecretStr:
    """Refuse a key that is too short to be kept secret; empty is no key."""
    text = key.get_secret_value()
    if text and (len(text) < MIN_KEY_CHARS or text != text.strip() or _UNPRINTABLE.search(text)):
        raise ValueError(
            f"must have {MIN_KEY_CHARS} characters or more, no blanks at its ends and no control characters; "
            "make one with: openssl rand -hex 32"
        )
    return key


def require_keys(keys: SecretStr) -> SecretStr:
    """Refuse keys of which one is too short to be kept secret; empty is none."""
    text = keys.get_secret_value()
    if _UNPRINTABLE.search(text) or any(len(key) < MIN_KEY_CHARS for key in split_words(text)):
        raise ValueError(
            f"must be keys of {MIN_KEY_CHARS} characters or more, separated by commas or blanks; make one "
            "with: openssl rand -hex 32"
        )
    return keys


def require_at_least(least_seconds: float, *, why: str) -> Callable[[float], float]:
    """Return a check that refuses durations below which nothing would work."""

    def check(seconds: float) -> float:
        if seconds < least_seconds:
            raise ValueError(f"must be {least_seconds:g} s or more: {why}")
        return seconds

    return check


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("must be a finite number")
    return value


Seconds = Annotated[float, BeforeValidator(_finite), BeforeValidator(parse_duration), Field(ge=0)]
"""A duration in seconds; variables also take a unit."""

PositiveSeconds = Annotated[float, BeforeValidator(_finite), BeforeValidator(parse_duration), Field(gt=0)]

StallSeconds = Annotated[
    Seconds,
    AfterValidator(
        require_at_least(3.0, why="a healthy process may take a second for one iteration of its loop")
    ),
]
"""Time without activity after which something counts as stalled."""

ValueList = Annotated[tuple[str, ...], BeforeValidator(split_words)]
"""Several values in one variable, separated by commas or blanks."""

Endpoints = Annotated[ValueList, AfterValidator(require_endpoints)]
"""Values that are host:port each."""

ContactAddress = Annotated[str, AfterValidator(require_contact)]
"""A URL or mail address, or nothing."""

ReadableFile = Annotated[str, AfterValidator(require_file)]
"""The name of a readable file, or nothing."""

HeaderText = Annotated[str, AfterValidator(require_printable)]
"""Text that can be sent in a header line."""

OwnerKey = Annotated[SecretStr, AfterValidator(require_owner_key)]
"""Key that owners of seeds sign with, or nothing."""

SecretKeys = Annotated[SecretStr, AfterValidator(require_keys)]
"""Keys of which the first is used for what is new, and each for what exists; or nothing."""

WebUrl = Annotated[SecretUrl, AfterValidator(require_address("http", "https"))]
PostgresUrl = Annotated[SecretUrl, AfterValidator(require_address("postgresql", "postgres"))]
RedisUrl = Annotated[SecretUrl, AfterValidator(require_address("redis", "rediss", "unix"))]
ObjectsUrl = Annotated[SecretUrl, AfterValidator(require_address("file", "s3", "gs"))]
