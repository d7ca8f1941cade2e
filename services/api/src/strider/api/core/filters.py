"""What a list is narrowed to: each filter read as the crawler would read it, before a database is asked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from difflib import get_close_matches
from typing import Final

from strider.urls import Refused, as_found, host, key_of, registrable_domain, url_hash

_KEY: Final = re.compile(r"[0-9a-f]{64}")
_SHOWN_CHARACTERS: Final = 60
"""Of a name that is no parameter."""


class InvalidFilterError(ValueError):
    """A filter that nothing can fit; `name` is the parameter's."""

    def __init__(self, name: str, detail: str) -> None:
        super().__init__(f"{name}: {detail}")
        self.name = name
        self.detail = detail


@dataclass(frozen=True, slots=True)
class ListFilters:
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


def check_names(given: Sequence[str], known: Sequence[str]) -> None:
    """Refuse what would be passed over: a filter that is misspelt, or said twice, narrows nothing."""
    for name in dict.fromkeys(given):
        shown = name if len(name) <= _SHOWN_CHARACTERS else f"{name[:_SHOWN_CHARACTERS]}…"
        if name not in known:
            near = get_close_matches(name[:_SHOWN_CHARACTERS], known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}"
            raise InvalidFilterError(shown, f"no such parameter; {hint}")
        if given.count(name) > 1:
            raise InvalidFilterError(shown, "it is there more than once")


def url_to_key(url: str) -> str:
    """Give the key of a URL, however it is written."""
    found = as_found(url)
    if isinstance(found, Refused):
        detail = f" ({found.detail})" if found.detail else ""
        raise InvalidFilterError("url", f"{found.reason}{detail}")
    return url_hash(key_of(found))


def key_filter(key: str) -> str:
    """Take a key, in either case of letters."""
    if not _KEY.fullmatch(key.lower()):
        raise InvalidFilterError("key", "a key is 64 hexadecimal digits")
    return key.lower()


def host_filter(name: str, text: str) -> tuple[str, str]:
    """Give a host as URLs have it, and its registrable domain."""
    found = as_found(f"http://{text}/") if text and not re.search(r"[/\\?#@\s]", text) else Refused("bad_url")
    if isinstance(found, Refused):
        raise InvalidFilterError(name, "that is no host name")
    plain = host(found)
    return plain, registrable_domain(plain)
