"""Fields of crawl specs: the services that read each one, and those that nothing reads yet.

Declared once; a test compares the readers with the code. A field that nothing reads is refused where its
value would ask for something, so that no sender believes in a setting without effect. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from strider.contracts.generated.events import CrawlSpecDeclared

_LINKS: Final = "link-ingestion"
_SCHEDULER: Final = "scheduler"
_FETCHES: Final = ("scheduler", "fetcher")
"""The scheduler copies the setting into the request, and the fetcher applies it."""

FIELD_READERS: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(("max_links_per_page", "max_url_bytes", "refused_file_types"), (_LINKS,)),
    **dict.fromkeys(("respect_nofollow", "use_sitemaps"), (_LINKS,)),
    "use_feeds": (_LINKS, _SCHEDULER),
    **dict.fromkeys(("scope", "hosts", "domains", "path_prefixes"), (_LINKS, _SCHEDULER)),
    **dict.fromkeys(("include", "exclude", "schemes", "allowed_ports"), (_LINKS, _SCHEDULER)),
    "max_depth": (_LINKS, _SCHEDULER),
    "priority": (_LINKS,),
    **dict.fromkeys(("max_pages", "max_bytes", "max_seconds"), (_SCHEDULER,)),
    **dict.fromkeys(("max_pages_per_host", "max_bytes_per_host", "max_seconds_per_host"), (_SCHEDULER,)),
    **dict.fromkeys(
        ("max_pages_per_domain", "max_bytes_per_domain", "max_seconds_per_domain"), (_SCHEDULER,)
    ),
    **dict.fromkeys(("max_hops", "delay_seconds", "max_in_flight_per_group"), (_SCHEDULER,)),
    **dict.fromkeys(("host_patience_seconds", "max_tries", "respect_robots"), (_SCHEDULER,)),
    **dict.fromkeys(("continuous", "recrawl_seconds", "recrawl_cap_seconds"), (_SCHEDULER,)),
    **dict.fromkeys(("adaptive", "change_basis", "feed_poll_seconds"), (_SCHEDULER,)),
    **dict.fromkeys(("max_body_bytes", "request_timeout_seconds", "use_cookies", "headers"), _FETCHES),
    **dict.fromkeys(("user_agent", "accept_language", "insecure_tls_hosts"), _FETCHES),
    **dict.fromkeys(("extraction", "with_markdown", "parser"), ("parser",)),
    "validation_rules": ("validator",),
    "respect_noindex": ("indexer",),
    "labels": ("strider specs",),
}
"""Services that apply each field."""


class PlannedField(NamedTuple):
    """A field that no service reads yet."""

    without_effect: tuple[Any, ...]
    """Values that ask for nothing: they are accepted."""
    statement: str


PLANNED_FIELDS: Final[Mapping[str, PlannedField]] = {
    "rendering": PlannedField(("never",), "there is no renderer yet, and no page is run in a browser"),
    "archive_bodies": PlannedField((False,), "bodies are not archived yet"),
    "use_archives": PlannedField((False,), "archive paths are not tried yet"),
    "predict_pagination": PlannedField(
        (True, False), "recorded, and without effect yet: a page of a list is crawled once it is linked"
    ),
}
"""Fields that are set for a later version."""


_WITHOUT_EFFECT: Final[tuple[tuple[tuple[str, ...], Mapping[str, tuple[Any, ...]]], ...]] = (
    (("recrawl_seconds", "change_basis"), {"continuous": (True,)}),
    (("recrawl_cap_seconds", "adaptive"), {"continuous": (True,), "feed_poll_seconds": ()}),
    (("parser",), {"extraction": ("records",)}),
    (("with_markdown",), {"extraction": ("main", "records")}),
)
"""Fields that apply only where one of the others has one of these values, or, without any, is set to more
than 0.
"""


def conflict_fault(spec: CrawlSpecDeclared) -> str:
    """Return which field of a spec has no effect because of other ones; empty for none."""
    default = CrawlSpecDeclared(crawl_spec_id="")
    for names, needed in _WITHOUT_EFFECT:
        changed = [name for name in names if getattr(spec, name) != getattr(default, name)]
        if changed and not any(_has_one_of(getattr(spec, other), values) for other, values in needed.items()):
            wanted = " or ".join(_condition_text(other, values) for other, values in needed.items())
            return f"{changed[0]} has no effect unless {wanted}; set it, or omit {changed[0]}"
    return ""


def _has_one_of(value: Any, values: tuple[Any, ...]) -> bool:
    return value in values if values else bool(value)


def _condition_text(name: str, values: tuple[Any, ...]) -> str:
    return f"{name} is {' or '.join(json.dumps(value) for value in values) or 'set'}"


def planned_fault(name: str, value: Any) -> str:
    """Return why a value cannot be used yet; empty where it can, or asks for nothing."""
    planned = PLANNED_FIELDS.get(name)
    if planned is None or value in planned.without_effect:
        return ""
    return f"{name} is {value!r}: {planned.statement}; omit it"
