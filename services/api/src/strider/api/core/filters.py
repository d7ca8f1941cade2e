"""What a list is narrowed to: each filter read as the crawler would read it, before a database is asked."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from strider.urls import Refused, as_found, host, key_of, registrable_domain, url_hash

_KEY: Final = re.compile(r"[0-9a-f]{64}")


class BadFilter(ValueError):
    """A filter that nothing can fit; `name` is the parameter's."""

    def __init__(self, name: str, detail: str) -> None:
        super().__init__(f"{name}: {detail}")
        self.name = name
        self.detail = detail


@dataclass(frozen=True, slots=True)
class Filters:
    """Only what fits all of these; None fits everything."""

    url_key: str | None = None
    host: str | None = None
    domain: str | None = None
    job_id: str | None = None
    execution_id: str | None = None
    status_code: int | None = None
    decision: str | None = None
    reason: str | None = None
    since: datetime | None = None
    until: datetime | None = None


def key_of_url(url: str) -> str:
    """Give the key of a URL, however it is written."""
    found = as_found(url)
    if isinstance(found, Refused):
        detail = f" ({found.detail})" if found.detail else ""
        raise BadFilter("url", f"{found.reason}{detail}")
    return url_hash(key_of(found))


def key_filter(key: str) -> str:
    """Take a key, in either case of letters."""
    if not _KEY.fullmatch(key.lower()):
        raise BadFilter("key", "a key is 64 hexadecimal digits")
    return key.lower()


def host_filter(name: str, text: str) -> tuple[str, str]:
    """Give a host as URLs have it, and its registrable domain."""
    found = as_found(f"http://{text}/") if text and not re.search(r"[/\\?#@\s]", text) else Refused("bad_url")
    if isinstance(found, Refused):
        raise BadFilter(name, "that is no host name")
    plain = host(found)
    return plain, registrable_domain(plain)
