"""The crawl spec of a crawl: options that are given, then the file of --spec, then the command's defaults."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from strider.cli.seeds.spec_files import InvalidSettings, read_spec_file
from strider.contracts.generated.events import CrawlSpecDeclared
from strider.contracts.specs.crawl_specs import SpecLayer, combine_layers
from strider.contracts.specs.fields import conflict_fault
from strider.politeness import header_fault
from strider.runtime.settings.base import CrawlSettings
from strider.urls import spec_scope_fault

from .request import BadCrawlRequest

if TYPE_CHECKING:
    from .options import CrawlOptions

OPTION_OF_FIELD: Final[Mapping[str, str]] = {
    "scope": "scope",
    "include": "include",
    "exclude": "exclude",
    "max_depth": "max_depth",
    "max_pages": "max_pages",
    "max_bytes": "max_bytes",
    "max_pages_per_host": "max_pages_per_host",
    "max_pages_per_domain": "max_pages_per_domain",
    "delay_seconds": "delay_seconds",
    "max_in_flight_per_group": "per_host",
    "request_timeout_seconds": "timeout_seconds",
    "host_patience_seconds": "host_patience_seconds",
    "respect_robots": "ignore_robots",
    "extraction": "extract",
}
"""Field of a crawl spec → option of the command that decides it."""


def make_crawl_spec(
    options: CrawlOptions, settings: CrawlSettings, *, headers: Mapping[str, str]
) -> CrawlSpecDeclared:
    """Return the crawl spec of a crawl; raises BadCrawlRequest."""
    from_file = {} if options.spec_file is None else _settings_of(options.spec_file)
    defaults = _values_of(options, settings)
    given = {name: value for name, value in defaults.items() if OPTION_OF_FIELD[name] in options.named}
    if "user_agent" in options.named:
        from_file.pop("user_agent", None)  # the option decides for all requests
    layers = (
        ("defaults", defaults),
        ("--spec", from_file),
        ("options", given),
        ("--header", {"headers": headers}),
    )
    spec = combine_layers([SpecLayer(name, values) for name, values in layers]).spec
    if options.spec_file is not None:
        _check(spec, options.spec_file)
    return spec


def _values_of(options: CrawlOptions, settings: CrawlSettings) -> dict[str, Any]:
    """Return the fields that options decide, with their values or defaults."""
    values = {name: getattr(options, option) for name, option in OPTION_OF_FIELD.items()}
    robots = settings.respect_robots and not options.ignore_robots
    return values | {"delay_seconds": settings.host_delay_seconds, "respect_robots": robots}


def _settings_of(path: Path) -> dict[str, Any]:
    try:
        return read_spec_file(path, option="--spec")
    except InvalidSettings as failure:
        text = str(failure)
        raise BadCrawlRequest(text if text.startswith("--spec") else f"--spec {text}") from failure


def _check(spec: CrawlSpecDeclared, path: Path) -> None:
    if spec.continuous:
        raise BadCrawlRequest(f"--spec {path}: continuous: a crawl in one process ends; leave it out")
    if fault := spec_scope_fault(spec) or header_fault(spec.headers) or conflict_fault(spec):
        raise BadCrawlRequest(f"--spec {path}: {fault}")
