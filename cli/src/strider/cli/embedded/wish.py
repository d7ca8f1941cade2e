"""What a crawl is to be, in the words of its command: its seeds, its crawl spec, its names. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

from strider.contracts.crawl_specs import spec_id
from strider.contracts.generated.events import CrawlSpecDeclared, SeedSubmitted
from strider.urls import InvalidPattern, RefusedUrl, compile_patterns, to_wire_url

JOB = "crawl"

SHOWN_CHARACTERS = 200
"""Of what somebody has typed and we quote."""


class BadWish(Exception):
    """Something that cannot be crawled like this; the message is one line for a person."""


@dataclass(frozen=True, slots=True)
class Wish:
    """One crawl."""

    seeds: tuple[str, ...]
    spec: CrawlSpecDeclared

    @property
    def execution_id(self) -> str:
        """Derived, so that the same wish resumes under the same name."""
        return f"{JOB}-{self.fingerprint[:12]}"

    @property
    def fingerprint(self) -> str:
        """Tell crawls apart."""
        return sha256("\n".join((self.spec.crawl_spec_id, *self.seeds)).encode()).hexdigest()

    def seed_events(self, now_ms: int) -> Sequence[SeedSubmitted]:
        """Give what is put on the front door."""
        return [
            SeedSubmitted(
                url=seed,
                job_id=JOB,
                execution_id=self.execution_id,
                crawl_spec_id=self.spec.crawl_spec_id,
                seed_id=str(number),
                max_depth=None,
                submitted_by="strider crawl",
                submitted_at_ms=now_ms,
            )
            for number, seed in enumerate(self.seeds)
        ]


def make_wish(seeds: Iterable[str], spec: CrawlSpecDeclared) -> Wish:
    """Check patterns, and that there is something to crawl; each URL counts once."""
    found = tuple(dict.fromkeys(seeds))
    for option, patterns in (("--include", spec.include), ("--exclude", spec.exclude)):
        compiled = compile_patterns(patterns)
        if isinstance(compiled, InvalidPattern):
            raise BadWish(f"{option} {compiled.pattern!r}: {compiled.detail}")
    if not found:
        raise BadWish("no URL to begin with; name one, or give a file with --from, or - for standard input")
    return Wish(found, replace(spec, crawl_spec_id=spec_id(spec)))


def read_seed(text: str) -> str:
    """Read a URL as people type it: a bare name gets https. Raises BadWish for what is none."""
    wanted = text.strip()
    if "://" not in wanted.partition("?")[0]:
        wanted = f"https://{wanted.removeprefix('//')}"
    found = to_wire_url(wanted)
    if isinstance(found, RefusedUrl):
        detail = f": {found.detail}" if found.detail else ""
        raise BadWish(f"{text.strip()[:SHOWN_CHARACTERS]!r} is no URL to crawl ({found.reason}{detail})")
    return found


def read_listed(text: str) -> str:
    """Read a URL of a list: what is none stays as it is, and gets a line that says so."""
    try:
        return read_seed(text)
    except BadWish:
        return text.strip()
