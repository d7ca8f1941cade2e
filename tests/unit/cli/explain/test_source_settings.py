"""The step that names each setting of a source's runs with what gave it."""

from __future__ import annotations

import pytest

from strider.cli.explain.source_settings import settings_of, settings_step
from strider.contracts.generated.events import SourceSaved

SOURCE = SourceSaved(
    "s",
    "Example",
    "https://www.example.org/",
    max_depth=5,
    delay_seconds=2.0,
    headers={"Authorization": "secret"},
)


@pytest.mark.req("S5.3.8", part="origin of settings in `strider explain --source`")
def test_each_setting_is_shown_with_its_origin() -> None:
    """A job's before the source's; and no value of a header."""
    step = settings_step(settings_of(SOURCE, {"delay_seconds": 1, "use_cookies": True}))

    assert (step.step, step.result) == ("settings", "yes")
    assert step.text.startswith(
        "max_depth 5 (source); delay_seconds 1.0 (job); use_cookies True (job); "
        "headers Authorization (source); all others are defaults; crawl spec "
    )


def test_a_disabled_source_waits() -> None:
    step = settings_step(settings_of(SourceSaved("s", "s", "https://a.test/", enabled=False), {}))

    assert (step.result, step.text.partition(";")[0]) == ("waits", "the source is disabled")
    assert "; all are defaults; crawl spec " in step.text
