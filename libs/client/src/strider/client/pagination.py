"""Lists of several pages as one iterator: each page is requested when its first item is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeVar

from .errors import UnexpectedResponse
from .requests import ApiRequests

T = TypeVar("T")

PAGE_ITEMS: Final = 200
"""Items that one request fetches."""


def iterate(
    requests: ApiRequests,
    path: str,
    params: Mapping[str, Any],
    *,
    read: Callable[[Any], T],
    limit: int | None = None,
) -> Iterator[T]:
    """Yield the items of a list, at most so many; a cursor that repeats itself ends it with an error."""
    remaining, cursor, seen = limit, None, set[str]()
    while remaining is None or remaining > 0:
        size = PAGE_ITEMS if remaining is None else min(PAGE_ITEMS, remaining)
        page = requests.get(path, {**params, "limit": size, "cursor": cursor}).document
        items = page.get("items")
        if not isinstance(items, list):
            raise UnexpectedResponse(f"{path} responds without `items`; is it an API of Strider?")
        yield from (read(item) for item in items[:size])
        remaining = None if remaining is None else remaining - len(items)
        cursor = page.get("next")
        if cursor is None:
            return
        if cursor in seen:
            raise UnexpectedResponse(f"{path} responds with the same cursor twice")
        seen.add(cursor)
