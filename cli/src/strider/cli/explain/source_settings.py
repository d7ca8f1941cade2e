"""The settings of a source's runs, with the origin of each.

The order is seed > job > source > default. A seed with settings of its own has a crawl spec of its own; the
settings of a run of the source are derived here as the scheduler derives them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from strider.cli.sources.record import open_record
from strider.contracts.generated.events import CrawlSpecDeclared, SourceSaved
from strider.crawl.sources.spec_mapping import SettingOrigin, setting_origins, spec_of_source

from .decision_steps import DecisionStep


@dataclass(frozen=True, slots=True)
class SourceSettings:
    """The crawl spec of a source and its job, and the origin of each setting."""

    source: SourceSaved
    spec: CrawlSpecDeclared
    origins: tuple[SettingOrigin, ...]


async def load_source_settings(name: str, job_id: str, *, dsn: str = "") -> SourceSettings:
    """Return the settings of a source, and of a job where one is named. Raises UnknownSource, Unavailable."""
    async with open_record(dsn) as record:
        source = await record.find(name)
        job = await record.jobs.get(job_id) if job_id else None
    return settings_of(source, job.crawl_settings if job is not None else {})


def settings_of(source: SourceSaved, job: Mapping[str, Any]) -> SourceSettings:
    """Return the settings of a source with those of a job."""
    return SourceSettings(source, spec_of_source(source, job), tuple(setting_origins(source, job)))


def settings_step(settings: SourceSettings) -> DecisionStep:
    """Return the step that lists the settings which are no defaults."""
    set_here = [each for each in settings.origins if each.origin != "default"]
    shown = "; ".join(f"{each.field} {_value_text(each.value)} ({each.origin})" for each in set_here)
    rest = "all others are defaults" if shown else "all are defaults"
    result = "yes" if settings.source.enabled else "waits"
    state = "" if settings.source.enabled else "the source is disabled; "
    text = f"{state}{shown}{'; ' if shown else ''}{rest}; crawl spec {settings.spec.crawl_spec_id[:12]}"
    return DecisionStep("settings", result, text)


def _value_text(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(value)  # names alone: values of headers may be personal
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
