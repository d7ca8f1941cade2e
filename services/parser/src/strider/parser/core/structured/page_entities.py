"""Find the entities in structured data that describe the page itself.

Date and author of a page are those of its article, not those of the site, of a series, of listed items or of
comments. Returns entities best first; others interpret their properties.
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
"""Bounds the traversal of a nested value."""

MAX_REFERENCE_PROPERTIES: Final = 2
"""Maximum properties of a mere reference: its `@id`, and possibly its `@type`."""

MAX_TEXT_MATCHES: Final = 8
"""Maximum occurrences of a property that are tried: each may contain all of the remaining text."""

_JSON: Final = json.JSONDecoder(strict=False)
_SPACE: Final = re.compile(r"[\s;]*")
_OWN_ENTITY_PROPERTIES: Final = ("@graph", "mainEntity", "mainEntityOfPage")
_FOREIGN_PROPERTIES: Final = re.compile(
    r'"(?:reviews?|comments?|suggestedAnswer|acceptedAnswer|itemListElement|isPartOf)"\s*+:\s*+(?=[\[{])'
)
_PAGE_TYPES: Final = frozenset(
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
    """The entities of a page, parsed on demand: many pages repeat them in meta elements."""

    def __init__(self, data: str) -> None:
        """Take the structured data: consecutive JSON values."""
        self._data = data

    @cached_property
    def values(self) -> tuple[Any, ...]:
        """All values that can be parsed."""
        return tuple(_decode_values(self._data))

    @cached_property
    def own(self) -> tuple[dict[str, Any], ...]:
        """Entities about the page, best first."""
        found = [(_entity_rank(one), one) for one in islice(_own_entities(list(self.values), 0), MAX_OBJECTS)]
        return tuple(one for rank in (_OWN, _PAGE) for its, one in found if its == rank)

    @cached_property
    def own_text(self) -> str:
        """The text without foreign entities, for data that cannot be parsed."""
        return _omit_foreign(self._data)

    def by_reference(self, reference: str) -> dict[str, Any]:
        """Return the entity with this `@id` and further properties; empty if there is none."""
        return self._entities_by_reference.get(reference, {})

    @cached_property
    def _entities_by_reference(self) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = {}
        for one in islice(_all_entities(list(self.values), 0), MAX_OBJECTS):
            if isinstance(reference := one.get("@id"), str) and len(one) > 1:
                found.setdefault(reference, one)
        return found

    def values_of(self, *fields: str) -> Iterator[Any]:
        """Yield the values of these properties in the page's own entities, then in the text.

        The text covers broken data, of which nothing is known but that a property occurs.
        """
        for item in self.own:
            yield from (item[field] for field in fields if field in item)
        pattern = re.compile(rf'"(?:{"|".join(fields)})"\s*+:\s*+')
        for match in islice(pattern.finditer(self.own_text), MAX_TEXT_MATCHES):
            try:
                yield _JSON.raw_decode(self.own_text, match.end())[0]
            except (ValueError, RecursionError):
                continue  # This one is broken; another may be valid.


NO_ENTITIES: Final = PageEntities("")


def collect_names(value: Any, entities: PageEntities = NO_ENTITIES) -> list[str]:
    """Return the names in a value: a text, an entity, a reference, or a list of these."""
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
            waiting.appendleft(_entity_name(each, entities))
    return found


def _entity_name(value: Mapping[str, Any], entities: PageEntities) -> Any:
    reference = value.get("@id")
    if len(value) <= MAX_REFERENCE_PROPERTIES and "name" not in value and isinstance(reference, str):
        value = entities.by_reference(reference) or value
    given = [value.get(name) for name in ("givenName", "familyName")]
    whole = " ".join(part for part in given if isinstance(part, str))
    return value.get("name") or value.get("@value") or whole


def _decode_values(data: str) -> Iterator[Any]:
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


def _own_entities(value: Any, depth: int) -> Iterator[dict[str, Any]]:
    if depth > MAX_DEPTH:
        return
    if isinstance(value, list):
        for one in value[:MAX_OBJECTS]:
            yield from _own_entities(one, depth + 1)
    elif isinstance(value, dict):
        yield value
        for name in _OWN_ENTITY_PROPERTIES:
            if isinstance(value.get(name), dict | list):
                yield from _own_entities(value[name], depth + 1)


def _all_entities(value: Any, depth: int) -> Iterator[dict[str, Any]]:
    if depth > MAX_DEPTH:
        return
    if isinstance(value, list):
        for one in value[:MAX_OBJECTS]:
            yield from _all_entities(one, depth + 1)
    elif isinstance(value, dict):
        yield value
        for one in value.values():
            if isinstance(one, dict | list):
                yield from _all_entities(one, depth + 1)


def _entity_rank(item: Mapping[str, Any]) -> int:
    types = item.get("@type")
    names = types if isinstance(types, list) else [types]
    kinds = {re.split("[/:#]", name)[-1].lower() for name in names[:5] if isinstance(name, str)}
    if not kinds.isdisjoint(_PAGE_TYPES):
        return _PAGE
    return _OTHER if kinds and kinds <= _OTHER_TYPES else _OWN


def _omit_foreign(data: str) -> str:
    """Return the text without entities of others: reviews, comments, listed items, containing works."""
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
