"""The crawl spec of a source's runs, and the URLs that they start from.

A setting is that of the seed, else that of the job, else that of the source, else the default. What a job
sets is a mapping of fields of a crawl spec; what a source sets is named in its own fields, as
`SOURCE_SETTINGS` lists them. A seed with settings of its own has a crawl spec of its own, as any seed. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Final

from strider.contracts import DecodeError
from strider.contracts.generated.enums import RequestKind
from strider.contracts.generated.events import CrawlSpecDeclared, SourceSaved
from strider.contracts.partitioning import registrable_domain
from strider.contracts.seed_limits import spec_range_error
from strider.contracts.specs.crawl_specs import effective_depth, spec_id
from strider.contracts.specs.settings import parse_settings
from strider.politeness import header_fault
from strider.urls import InvalidPattern, compile_patterns, host_of, spec_scope_fault

DEFAULTS: Final = CrawlSpecDeclared(crawl_spec_id="")
"""Settings that neither seed nor job nor source sets."""

JOB_FIELDS: Final = tuple(field.name for field in fields(CrawlSpecDeclared) if field.name != "crawl_spec_id")
"""Fields of a crawl spec that a job may set."""

SOURCE_SETTINGS: Final[Mapping[str, tuple[str, ...]]] = {
    "scope": ("scope",),
    "hosts": ("domains",),
    "domains": ("domains",),
    "include": ("include",),
    "exclude": ("exclude",),
    "max_depth": ("max_depth",),
    "max_pages": ("max_pages",),
    "priority": ("priority",),
    "delay_seconds": ("delay_seconds",),
    "max_in_flight_per_group": ("max_concurrent_requests",),
    "extraction": ("extraction",),
    "parser": ("parser",),
    "use_sitemaps": ("sitemap_urls",),
    "feed_poll_seconds": ("feed_poll_seconds",),
    "recrawl_seconds": ("crawl_frequency_seconds",),
    "recrawl_cap_seconds": ("crawl_frequency_seconds",),
    "adaptive": ("adaptive_scheduling",),
    "change_basis": ("change_basis",),
    "headers": ("headers",),
    "insecure_tls_hosts": ("insecure_tls", "url", "start_urls", "domains"),
}
"""Field of the crawl spec → fields of the source that it follows from."""


class InvalidSetting(ValueError):
    """A setting of a job that no crawl spec can have; `field` is its name."""

    def __init__(self, field: str, detail: str) -> None:
        super().__init__(f"{field}: {detail}")
        self.field = field
        self.detail = detail


@dataclass(frozen=True, slots=True)
class SettingOrigin:
    """The origin of a setting of a run."""

    field: str
    value: Any
    origin: str
    """`job`, `source` or `default`."""


def spec_of_source(
    source: SourceSaved,
    job: Mapping[str, Any] | None = None,
    defaults: CrawlSpecDeclared = DEFAULTS,
) -> CrawlSpecDeclared:
    """Return the crawl spec for the runs of a job of a source; `job` has the settings of the job by name.

    Raises InvalidSetting.
    """
    settings = job_settings(job or {})
    spec = replace(defaults, **_of_source(source, defaults))
    headers = {**spec.headers, **settings.pop("headers", {})}
    spec = replace(spec, **settings, headers=headers)
    if fault := spec_range_error(spec):
        raise InvalidSetting(*_named(fault))
    patterns = compile_patterns(spec.include, spec.exclude)
    if isinstance(patterns, InvalidPattern):
        field = patterns.field if patterns.field in JOB_FIELDS else "include"
        raise InvalidSetting(field, patterns.sentence().removeprefix(f"{patterns.field}: "))
    return replace(spec, crawl_spec_id=spec_id(spec))


def job_settings(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a job with the types of a crawl spec; raises InvalidSetting.

    Refuses unknown names, wrong types, words that are not in the list of their field, and numbers out of
    range: what would be wrong when the job runs is refused when it is saved.
    """
    try:
        parsed = parse_settings(document, place="")
    except DecodeError as failure:
        raise InvalidSetting(*_named(failure.detail)) from failure
    settings: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in parsed.items()
    }
    if "max_depth" in settings:
        settings["max_depth"] = effective_depth(settings["max_depth"])
    fault = header_fault(settings.get("headers", {})) or spec_scope_fault(replace(DEFAULTS, **settings))
    if fault:
        raise InvalidSetting(*_named(fault))
    return settings


def setting_origins(
    source: SourceSaved, job: Mapping[str, Any] | None = None, defaults: CrawlSpecDeclared = DEFAULTS
) -> list[SettingOrigin]:
    """Return every setting of a crawl spec with what gave its value."""
    settings = job_settings(job or {})
    spec, own = spec_of_source(source, job, defaults), _of_source(source, defaults)
    origins = []
    for name in JOB_FIELDS:
        value = getattr(spec, name)
        is_own = name in own and own[name] != getattr(defaults, name)
        origin = "job" if name in settings else "source" if is_own else "default"
        origins.append(SettingOrigin(name, value, origin))
    return origins


def start_urls(source: SourceSaved, *, url: str = "") -> list[tuple[str, RequestKind]]:
    """Return what a run starts from, each once: the job's URL or the source's, feeds and sitemaps.

    With a URL of a job, the start URLs of the source are left out: the job crawls that URL.
    """
    pages = (url,) if url and url != source.url else (source.url, *source.start_urls)
    found = dict.fromkeys((each, RequestKind.PAGE) for each in pages)
    found |= dict.fromkeys((each, RequestKind.FEED) for each in source.feed_urls)
    found |= dict.fromkeys((each, RequestKind.SITEMAP) for each in source.sitemap_urls)
    return list(found)


def _of_source(source: SourceSaved, defaults: CrawlSpecDeclared) -> dict[str, Any]:
    """Return the settings that a source has, by fields of the crawl spec."""
    hosts, domains = _split_names(source.domains)
    recrawl_seconds = source.crawl_frequency_seconds
    return {
        "scope": source.scope,
        "hosts": (*defaults.hosts, *hosts),
        "domains": (*defaults.domains, *domains),
        "include": (*defaults.include, *source.include),
        "exclude": (*defaults.exclude, *source.exclude),
        "max_depth": effective_depth(source.max_depth) if source.max_depth else defaults.max_depth,
        "max_pages": source.max_pages or defaults.max_pages,
        # Pages found from a start URL are never more urgent than the start URL itself.
        "priority": min(defaults.priority, source.priority),
        "delay_seconds": defaults.delay_seconds if source.delay_seconds is None else source.delay_seconds,
        "max_in_flight_per_group": source.max_concurrent_requests,
        "extraction": source.extraction,
        "parser": source.parser or defaults.parser,
        "use_sitemaps": defaults.use_sitemaps or bool(source.sitemap_urls),
        "feed_poll_seconds": defaults.feed_poll_seconds
        if source.feed_poll_seconds is None
        else source.feed_poll_seconds,
        "recrawl_seconds": recrawl_seconds,
        "recrawl_cap_seconds": max(defaults.recrawl_cap_seconds, recrawl_seconds),
        "adaptive": source.adaptive_scheduling,
        "change_basis": source.change_basis,
        "headers": {**defaults.headers, **source.headers},
        "insecure_tls_hosts": _insecure_hosts(source, defaults),
    }


def _split_names(names: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """Return the single hosts and the whole domains among the names of a source."""
    plain = [name.strip().lower().strip(".") for name in names]
    domains = [name for name in plain if name and registrable_domain(name) == name]
    return [name for name in plain if name and name not in domains], domains


def _insecure_hosts(source: SourceSaved, defaults: CrawlSpecDeclared) -> tuple[str, ...]:
    if not source.insecure_tls:
        return defaults.insecure_tls_hosts
    urls = (source.url, *source.start_urls, *source.feed_urls, *source.sitemap_urls)
    hosts, domains = _split_names(source.domains)
    names = (*defaults.insecure_tls_hosts, *map(host_of, urls), *hosts, *domains)
    return tuple(dict.fromkeys(names))


def _named(fault: str) -> tuple[str, str]:
    """Return the field and the rest of an error that begins with its field."""
    name, _, rest = fault.partition(" ")
    return name.rstrip(":"), rest
