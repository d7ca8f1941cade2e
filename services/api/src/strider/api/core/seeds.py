"""Parse a body of seeds, and decide which of them can be crawled at all.

Each seed passes the same checks as a JSON document on the topic; only the forms of a body are parsed here,
and what can be decided from a URL alone is decided at once. Scope, crawl specs and everything that needs
state are decided by link-ingestion, and reported on `urls-decided`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

from strider.contracts.generated.enums import DecisionReason
from strider.contracts.generated.events import SeedSubmitted
from strider.contracts.owner_signature import SenderRole
from strider.contracts.seed_names import job_id_of_seed, name_fault
from strider.contracts.specs.crawl_specs import spec_from_seed
from strider.contracts.specs.fields import conflict_fault
from strider.contracts.specs.settings import settings_fault
from strider.politeness import header_fault, personal_headers
from strider.urls import (
    InvalidPattern,
    RefusedUrl,
    address_refusal,
    compile_patterns,
    host_kind,
    host_of,
    spec_scope_fault,
    to_wire_url,
    url_hash,
    url_key_of,
)

BAD_SEED: Final = DecisionReason.BAD_SEED
BAD_URL: Final = DecisionReason.BAD_URL
TOLD_CHARACTERS: Final = 500
"""Of a text that is not a URL, in a response."""


class InvalidBodyError(ValueError):
    """A body that is not a list of seeds."""


@dataclass(frozen=True, slots=True)
class SeedDocument:
    """One seed of a body: its document, and the URL in it, for the response."""

    document: bytes
    url: str


@dataclass(frozen=True, slots=True)
class SeedResult:
    """Result for one seed."""

    url: str
    """In wire form; as it was sent, where it is refused."""
    accepted: bool
    url_key: str = ""
    job_id: str = ""
    reason: str = ""
    detail: str = ""


def read_body(body: bytes, *, max_seeds: int) -> list[SeedDocument]:
    """Parse one seed, a list of them, or `{"seeds": [...]}`; in a list a text stands for its URL."""
    try:
        value = json.loads(body, object_pairs_hook=_unique)
    except InvalidBodyError:
        raise
    except (ValueError, RecursionError) as failure:
        raise InvalidBodyError(f"the body is not JSON: {failure}") from failure
    if isinstance(value, dict) and "seeds" in value:
        if len(value) > 1:
            raise InvalidBodyError(
                "`seeds` must be the only field of the object; set other fields in each seed"
            )
        value = value["seeds"]
    items = value if isinstance(value, list) else [value]
    if not items:
        raise InvalidBodyError("the body contains no seeds")
    if len(items) > max_seeds:
        raise InvalidBodyError(f"{len(items)} seeds, the limit is {max_seeds}")
    return [_sent(item, number) for number, item in enumerate(items)]


def validate_seed(seed: SeedSubmitted, *, sender: SenderRole, allow_private: bool) -> SeedResult:
    """Return whether a seed can be crawled, as far as the seed alone decides it."""
    fault = name_fault(seed, sender) or _pattern_fault(seed) or _settings_fault(seed)
    if fault := fault or _header_fault(seed, sender):
        return refused(seed.url, BAD_SEED, fault)
    found = crawlable_url(seed.url, allow_private=allow_private)
    if isinstance(found, RefusedUrl):
        return refused(seed.url, found.reason, found.detail)
    job_id = job_id_of_seed(seed, sender)
    return SeedResult(found, accepted=True, url_key=url_hash(url_key_of(found)), job_id=job_id)


def crawlable_url(url: str, *, allow_private: bool) -> str | RefusedUrl:
    """Return a URL in wire form, or why it cannot be crawled, as far as the URL alone decides it."""
    found = to_wire_url(url)
    if isinstance(found, RefusedUrl):
        return RefusedUrl(found.reason, _detail(found, url))
    blocked = address_refusal(host_kind(host_of(found)), allow_private=allow_private)
    return found if blocked is None else blocked


def refused(url: str, reason: str, detail: str) -> SeedResult:
    """Refuse a seed."""
    return SeedResult(url[:TOLD_CHARACTERS], accepted=False, reason=reason, detail=detail[:TOLD_CHARACTERS])


def _sent(item: Any, number: int) -> SeedDocument:
    if isinstance(item, str):
        item = {"url": item}
    if not isinstance(item, dict):
        raise InvalidBodyError(f"seed {number} is neither an object nor a URL")
    url = item.get("url")
    return SeedDocument(json.dumps(item).encode(), url if isinstance(url, str) else "")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) != len(pairs):
        raise InvalidBodyError("an object contains a name twice")
    return document


def _pattern_fault(seed: SeedSubmitted) -> str:
    patterns = compile_patterns(seed.include, seed.exclude)
    return patterns.sentence() if isinstance(patterns, InvalidPattern) else ""


def _settings_fault(seed: SeedSubmitted) -> str:
    """Return the fault of the field `spec`."""
    if not seed.spec:
        return ""
    if seed.crawl_spec_id:
        return "spec: the seed names a crawl spec by crawl_spec_id as well; set one of them"
    if fault := settings_fault(seed.spec):
        return fault
    spec = spec_from_seed(seed)
    fault = spec_scope_fault(spec) or conflict_fault(spec)
    return f"spec.{fault}" if fault else ""


def _header_fault(seed: SeedSubmitted, sender: SenderRole) -> str:
    """Return the fault of a seed's headers before they are encrypted, which link-ingestion could not see."""
    if sender is SenderRole.RAW and (names := personal_headers(seed.headers)):
        return (
            f"headers: {names[0]} is a personal header, which only an owner may set; set STRIDER_OWNER_KEY "
            "for the API"
        )
    return header_fault(seed.headers)


def _detail(refusal: RefusedUrl, text: str) -> str:
    """Suggest the scheme, where only that is missing."""
    if refusal.reason != BAD_URL or "://" in text:
        return refusal.detail
    guess = to_wire_url(f"https://{text.strip()}")
    return refusal.detail if isinstance(guess, RefusedUrl) else f"without a scheme; did you mean {guess}?"
