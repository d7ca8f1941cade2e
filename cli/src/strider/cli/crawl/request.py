"""Request of a crawl: seeds, crawl spec, and the run id derived from them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

from strider.cli.typed_urls import BadTypedUrl, TypedUrl, read_url
from strider.contracts.generated.events import CrawlSpecDeclared, SeedSubmitted
from strider.contracts.specs.crawl_specs import spec_id
from strider.urls import InvalidPattern, compile_patterns

JOB_ID = "crawl"

_OPTIONS = {"include": "--include", "exclude": "--exclude"}

MAX_LISTED_CHARS = 4096
"""Of a line of a list that is no URL; longer than any URL may be, so that it is refused for its length."""


class BadCrawlRequest(Exception):
    """Options that cannot be used; the message is one line."""


@dataclass(frozen=True, slots=True)
class CrawlRequest:
    """Seeds and crawl spec of one crawl."""

    seeds: tuple[str, ...]
    spec: CrawlSpecDeclared

    @property
    def execution_id(self) -> str:
        """Id of the run; derived, so that the same request resumes under the same id."""
        return f"{JOB_ID}-{self.fingerprint[:12]}"

    @property
    def fingerprint(self) -> str:
        """Digest of seeds and crawl spec."""
        return sha256("\n".join((self.spec.crawl_spec_id, *self.seeds)).encode()).hexdigest()

    def seed_events(self, now_ms: int) -> Sequence[SeedSubmitted]:
        """Return the seeds as events."""
        return [
            SeedSubmitted(
                url=seed,
                job_id=JOB_ID,
                execution_id=self.execution_id,
                crawl_spec_id=self.spec.crawl_spec_id,
                seed_id=str(number),
                max_depth=None,
                submitted_by="strider crawl",
                submitted_at_ms=now_ms,
            )
            for number, seed in enumerate(self.seeds)
        ]


def make_request(seeds: Iterable[str], spec: CrawlSpecDeclared) -> CrawlRequest:
    """Validate patterns and the number of seeds; duplicate seeds are removed."""
    found = tuple(dict.fromkeys(seeds))
    patterns = compile_patterns(spec.include, spec.exclude)
    if isinstance(patterns, InvalidPattern):
        option = _OPTIONS.get(patterns.field, "--include and --exclude")
        shown = f" {patterns.pattern!r:.100}" if patterns.pattern else ""
        raise BadCrawlRequest(f"{option}{shown}: {patterns.detail}")
    if not found:
        raise BadCrawlRequest("no start URL; name one, or give a file with --from, or - for standard input")
    return CrawlRequest(found, replace(spec, crawl_spec_id=spec_id(spec)))


def parse_seed(text: str) -> TypedUrl:
    """Parse a typed URL. Raises BadCrawlRequest."""
    try:
        return read_url(text)
    except BadTypedUrl as wrong:
        raise BadCrawlRequest(str(wrong)) from wrong


def parse_listed_seed(text: str) -> TypedUrl:
    """Parse a URL of a list; an invalid one stays as it is, and its record has the reason."""
    try:
        return read_url(text)
    except BadTypedUrl:
        return TypedUrl(text, text.strip()[:MAX_LISTED_CHARS])
