"""Which objects of a page's data are about the page itself, and which only about what it shows?

A page is dated and signed by its article, not by the site as a whole, by a series that it belongs to, by
what it lists or by who commented. Gives objects, best first; what stands in them is read by others.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import islice
from typing import Any, Final

MAX_OBJECTS: Final = 500
MAX_DEPTH: Final = 12
MAX_OMITTED: Final = 40
MAX_NAMES: Final = 10
MAX_STEPS: Final = 40
"""Of a value that is nested to any depth."""

MAX_REFERENCE_PROPERTIES: Final = 2
"""Properties of what is only a reference: its `@id`, and maybe its `@type`."""

MAX_TEXT_MATCHES: Final = 8
"""Places of a field in a page's data that are looked at: each may hold all of the rest."""

_JSON: Final = json.JSONDecoder(strict=False)
_SPACE: Final = re.compile(r"[\s;]*")
_OWN_ENTITY_PROPERTIES: Final = ("@graph", "mainEntity", "mainEntityOfPage")
_FOREIGN_PROPERTIES: Final = re.compile(
    r'"(?:reviews?|comments?|suggestedAnswer|acceptedAnswer|itemListElement|isPartOf)"\s*+:\s*+(?=[\[{])'
)
_PAGES: Final = frozenset(
    [*("webpage", "itempage", "collectionpage", "aboutpage", "contactpage", "faqpage", "searchresultspage")]
)
_OTHER_TYPES: Final = frozenset(
    [
        *("website", "organization", "newsmediaorganization", "person", "imageobject", "breadcrumblist"),
        *("corporation", "localbusiness", "sitenavigationelement", "itemlist", "listitem", "brand"),
    ]
)
_OWN, _PAGE, _OTHER = range(3)


class PageEntities:
    """What a page's data holds; read when it is asked for, as many pages say the same in their head."""

    def __init__(self, data: str) -> None:
        """Take the data: JSON, one value behind the other."""
        self._data = data

    @cached_property
    def values(self) -> tuple[Any, ...]:
        """All that can be read."""
        return tuple(_values(self._data))

    @cached_property
    def own(self) -> tuple[dict[str, Any], ...]:
        """Objects about the page, best first."""
        found = [(_rank(one), one) for one in islice(_own(list(self.values), 0), MAX_OBJECTS)]
        return tuple(one for rank in (_OWN, _PAGE) for its, one in found if its == rank)

    @cached_property
    def own_text(self) -> str:
        """The data without what others have said, for where it cannot be read."""
        return _omit_foreign(self._data)

    def by_reference(self, reference: str) -> dict[str, Any]:
        """Find the object of an `@id` that says more than this."""
        return self._entities_by_reference.get(reference, {})

    @cached_property
    def _entities_by_reference(self) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = {}
        for one in islice(_all(list(self.values), 0), MAX_OBJECTS):
            if isinstance(reference := one.get("@id"), str) and len(one) > 1:
                found.setdefault(reference, one)
        return found

    def values_of(self, *fields: str) -> Iterator[Any]:
        """Give what the page's own objects say under these names; then what stands so in the text.

        Of data that is broken nothing else can be told than that something stands there.
        """
        for item in self.own:
            yield from (item[field] for field in fields if field in item)
        wanted = re.compile(rf'"(?:{"|".join(fields)})"\s*+:\s*+')
        for match in islice(wanted.finditer(self.own_text), MAX_TEXT_MATCHES):
            try:
                yield _JSON.raw_decode(self.own_text, match.end())[0]
            except (ValueError, RecursionError):
                continue  # this one is broken; another may be whole


NO_ENTITIES: Final = PageEntities("")


def names_of(value: Any, objects: PageEntities = NO_ENTITIES) -> list[str]:
    """Read a name, something that has one or is described elsewhere, or several such."""
    found: list[str] = []
    waiting = deque([value])
    for _ in range(MAX_STEPS):
        if not waiting or len(found) == MAX_NAMES:
            break
        each = waiting.popleft()
        if isinstance(each, str):
            found.append(each)
        elif isinstance(each, list):
            waiting.extendleft(reversed(each[:MAX_NAMES]))
        elif isinstance(each, dict):
            waiting.appendleft(_entity_name(each, objects))
    return found


def _entity_name(value: Mapping[str, Any], objects: PageEntities) -> Any:
    reference = value.get("@id")
    if len(value) <= MAX_REFERENCE_PROPERTIES and "name" not in value and isinstance(reference, str):
        value = objects.by_reference(reference) or value
    given = [value.get(name) for name in ("givenName", "familyName")]
    whole = " ".join(part for part in given if isinstance(part, str))
    return value.get("name") or value.get("@value") or whole


def _values(data: str) -> Iterator[Any]:
    at = 0
    for _ in range(MAX_OBJECTS):
        at = _SPACE.match(data, at).end()  # type: ignore[union-attr]  # it matches nothing, too
        if at >= len(data):
            return
        try:
            value, at = _JSON.raw_decode(data, at)
        except (ValueError, RecursionError):
            return
        yield value


def _own(value: Any, depth: int) -> Iterator[dict[str, Any]]:
    if depth > MAX_DEPTH:
        return
    if isinstance(value, list):
        for one in value[:MAX_OBJECTS]:
            yield from _own(one, depth + 1)
    elif isinstance(value, dict):
        yield value
        for name in _OWN_ENTITY_PROPERTIES:
            if isinstance(value.get(name), dict | list):
                yield from _own(value[name], depth + 1)


def _all(value: Any, depth: int) -> Iterator[dict[str, Any]]:
    if depth > MAX_DEPTH:
        return
    if isinstance(value, list):
        for one in value[:MAX_OBJECTS]:
            yield from _all(one, depth + 1)
    elif isinstance(value, dict):
        yield value
        for one in value.values():
            if isinstance(one, dict | list):
                yield from _all(one, depth + 1)


def _rank(item: Mapping[str, Any]) -> int:
    said = item.get("@type")
    names = said if isinstance(said, list) else [said]
    kinds = {re.split("[/:#]", name)[-1].lower() for name in names[:5] if isinstance(name, str)}
    if not kinds.isdisjoint(_PAGES):
        return _PAGE
    return _OTHER if kinds and kinds <= _OTHER_TYPES else _OWN


def _omit_foreign(data: str) -> str:
    """Leave out what is of others: reviews, comments, what is listed, and what this is a part of."""
    kept, at = [], 0
    for match in islice(_FOREIGN_PROPERTIES.finditer(data), MAX_OMITTED):
        if match.start() < at:
            continue
        try:
            _, end = _JSON.raw_decode(data, match.end())
        except (ValueError, RecursionError):
            continue
        kept.append(data[at : match.start()])
        at = end
    return "".join([*kept, data[at:]]) if at else data
