"""From what a person wrote to seeds: a line is a URL, or a JSON document with a field `url`.

Each one is looked at with the eyes of the service that will read it, so that a mistake is told here,
with its line, and not an hour later on a topic. Sends nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from strider.contracts import DecodeError
from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.events import CrawlSpecDeclared, SeedSubmitted
from strider.contracts.generated.topics import SEEDS_SUBMITTED
from strider.contracts.seed_limits import DEFAULT_DEPTH, seed_range_error
from strider.link_ingestion.core import RefusedSeed, SeedPosition, accept_seed
from strider.urls import PRIVATE, RefusedUrl, host_kind, host_of, to_wire_url

SUBMITTED_BY: Final = "strider seeds add"
PROBE_URL: Final = "https://example.org/"
"""Options are tried on it before the first line is read."""

_NOWHERE: Final = SeedPosition("", 0, 0)
_DETAILS: Final = {
    "bad_url": "no URL",
    "url_too_long": "longer than 2,048 bytes",
    "refused_scheme": "only http and https are crawled",
    "policy_blocked": "a metadata service is never crawled",
    "bad_host": "its host cannot be a name",
}


class Line(NamedTuple):
    """What was written, and where."""

    place: str
    """`argument 2`, `urls.txt:17`."""
    text: str


@dataclass(frozen=True, slots=True)
class Ready:
    """A seed that may be sent."""

    url: str
    key: bytes | None
    value: bytes
    note: str = ""
    """What a person should know about it all the same."""


@dataclass(frozen=True, slots=True)
class Bad:
    """A line that is no seed, and why."""

    place: str
    why: str


class SeedReader:
    """Makes seeds of lines; what a line does not say is taken from the options."""

    def __init__(self, options: Mapping[str, Any], *, allow_private: bool, now_ms: int) -> None:
        self._options = {"submitted_by": SUBMITTED_BY, "submitted_at_ms": now_ms, **options}
        self._allow_private = allow_private
        self._codec = Codec(SchemaStore.bundled())

    def option_fault(self) -> str:
        """Say what about the options makes no sense; empty where all does."""
        for name, value in self._options.items():
            # JSON has no word for what is no number, and would blame itself.
            option = f"--{name.replace('_', '-')}"
            if isinstance(value, int | float) and (
                fault := seed_range_error(name, value, display_name=option)
            ):
                return fault
        probe = self.read(Line("", PROBE_URL))
        return probe.why if isinstance(probe, Bad) else ""

    def option_note(self) -> str:
        """Say what a person may not expect of the options; empty where that is nothing."""
        if self._options.get("max_depth") != 0:
            return ""
        return f"--max-depth 0 means the default in a seed: {DEFAULT_DEPTH} links are followed"

    def read(self, line: Line) -> Ready | Bad:
        """Read one line."""
        try:
            wish, note = self._wish_of(line.text)
            value = json.dumps({**self._options, **wish}, ensure_ascii=False).encode()
            seed = self._codec.decode(SEEDS_SUBMITTED, value)
        except DecodeError as failure:
            return Bad(line.place, failure.detail)
        except UnicodeEncodeError:
            return Bad(line.place, "half of a surrogate pair stands in it")
        if why := _fault_of(seed):
            return Bad(line.place, why)
        if not note and not self._allow_private and host_kind(_host_of(seed.url)) == PRIVATE:
            note = f"{seed.url} is a private address: services without STRIDER_ALLOW_PRIVATE refuse it"
        return Ready(seed.url, SEEDS_SUBMITTED.key_of(seed), value, note)

    def _wish_of(self, text: str) -> tuple[dict[str, Any], str]:
        if not text.startswith("{"):
            url, note = _with_scheme(text)
            return {"url": url}, note
        # The door reads the document first: it names what is wrong better than we could.
        self._codec.decode(SEEDS_SUBMITTED, text.encode())
        wish: dict[str, Any] = json.loads(text)
        return {name: value for name, value in wish.items() if value is not None}, ""


def parse_pairs(texts: Iterable[str], separator: str) -> dict[str, str]:
    """Read `name=value` or `Name: value`; raises ValueError with a sentence."""
    pairs = {}
    for text in texts:
        name, mark, value = text.partition(separator)
        if not mark or not name.strip():
            raise ValueError(f"{text!r} is not of the form name{separator}value")
        pairs[name.strip()] = value.strip()
    return pairs


def _with_scheme(text: str) -> tuple[str, str]:
    """Put https:// before what is a URL but for that, and say so."""
    if "://" not in text and isinstance(to_wire_url(text), RefusedUrl):
        guess = f"https://{text}"
        if (
            not isinstance(to_wire_url(guess), RefusedUrl)
            and "." in text.partition("/")[0]
            and " " not in text
        ):
            return guess, f"{text} is taken for {guess}"
    return text, ""


def _fault_of(seed: SeedSubmitted) -> str:
    spec_id = seed.crawl_spec_id or ""
    known = {spec_id: CrawlSpecDeclared(crawl_spec_id=spec_id)} if spec_id else {}  # only the broker knows
    answer = accept_seed(seed, _NOWHERE, timestamp_ms=0, known_specs=known, allow_private=True)
    if not isinstance(answer, RefusedSeed):
        return ""
    if answer.reason == "bad_seed":
        return answer.detail
    why = _DETAILS.get(answer.detail) or answer.detail if answer.reason == "bad_url" else ""
    return f"{answer.url[:120]!r}: {why or _DETAILS.get(answer.reason, answer.reason)}"


def _host_of(url: str) -> str:
    found = to_wire_url(url)
    assert not isinstance(found, RefusedUrl), "looked at before"
    return host_of(found)
