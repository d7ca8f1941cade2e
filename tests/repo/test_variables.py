"""The variables that acceptance lines name: each is a setting that people find, with the line's default."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from strider.runtime.settings.help import settings_classes
from strider.runtime.settings.loader import load_settings, setting_fields

from .rules.sources import load_tool

requirements = load_tool("requirements")

ROOT = Path(__file__).parents[2]
VARIABLE = re.compile(r"\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b")

OPEN = frozenset(
    {
        "CRAWLER_MINIO_ENABLED",
        "CRAWLER_READABILITY_FALLBACK_ENABLED",
        "CRAWLER_REDIS_STORAGE_ENABLED",
        "CRAWLER_REDIS_STORAGE_EXPIRES",
        "WORKER_ID",
    }
)
"""Variables that lines name and no service has. One that is added moves into the cases below."""

WITHOUT_EFFECT = frozenset({"S1.14.10"})
"""Lines about a setting whose effect on a running process no test shows whole."""


def named() -> dict[str, set[str]]:
    """Return variable -> the lines that name it."""
    found: dict[str, set[str]] = {}
    for line, (text, _) in requirements.wording().items():
        for variable in VARIABLE.findall(text):
            found.setdefault(variable, set()).add(line)
    return found


def values(variable: str, environ: dict[str, str]) -> list[Any]:
    """Load the settings of every service that has this variable; return its value in each."""
    found = []
    for known in settings_classes():
        for setting in setting_fields(known):
            if setting.variable == variable:
                settings = load_settings(known, environ).settings
                own = getattr(settings, setting.area) if hasattr(settings, setting.area) else settings
                found.append(getattr(own, setting.field))
    return found


def test_every_variable_of_a_line_is_a_setting_or_stands_open() -> None:
    """A variable that is named and that no service reads is worse than none: people set it and wonder."""
    settings = {setting.variable for known in settings_classes() for setting in setting_fields(known)}

    assert named().keys() - settings == OPEN


CASES = [
    ("AUTH_JWT_SECRET", SecretStr(""), "x" * 32, SecretStr("x" * 32)),
    ("SESSION_SECRET", SecretStr(""), "x" * 32, SecretStr("x" * 32)),
    ("CRAWLER_PROXIES_ENABLED", False, "true", True),
    ("CRAWLER_PROXY_URLS", "()", "http://p.test:1", "p.test:1"),
    ("CRAWLER_RESPECT_ROBOTS_TXT", True, "false", False),
    ("CRAWLER_USE_RANDOM_USER_AGENT", False, "true", True),
    ("FETCHER_FOLLOW_REDIRECTS", True, "false", False),
    ("FETCHER_MAX_REDIRECTS", 5, "3", 3),
    ("CRAWLER_FEED_DISCOVERY_ENABLED", False, "true", True),
    ("CRAWLER_FEED_POLL_ENABLED", False, "true", True),
    (
        "CRAWLER_SOURCES_API_URL",
        "http://localhost:8050/api/v1/sources",
        "http://sources.test/",
        "http://sources.test/",
    ),
    ("REDIS_EVENTS_ENABLED", False, "true", True),
    ("STALL_THRESHOLD", 300.0, "7m", 420.0),
]
"""Variable, default, another text, and the value that follows from it."""


@pytest.mark.req(
    "S0.3.5",
    "S0.3.6",
    "S1.14.2",
    "S1.14.11",
    "S5.3.6",
    "S1.14.3",
    "S1.14.4",
    "S1.14.6",
    "S1.14.9",
    "S1.14.12",
    "S1.14.13",
)
@pytest.mark.req("S1.14.10", part="five by default")
@pytest.mark.req("S2.1.4", part="five minutes by default")
@pytest.mark.parametrize(("variable", "default", "text", "changed"), CASES, ids=[case[0] for case in CASES])
def test_a_variable_has_the_default_of_its_line_and_changes_what_is_loaded(
    variable: str, default: Any, text: str, changed: Any
) -> None:
    """In every service that takes it; what the value does is shown where a process runs."""
    before, after = values(variable, {}), values(variable, {variable: text})

    assert before
    if isinstance(changed, str):
        assert {str(value) for value in before} == {default}
        secrets = [value for found in after for value in (found if isinstance(found, tuple) else [found])]
        assert all(changed in value.get_secret_value() for value in secrets)
    else:
        assert set(before) == {default}
        assert set(after) == {changed}


def test_every_variable_of_a_line_is_tried_here() -> None:
    """The cases above follow the lines, not the author's memory."""
    assert {case[0] for case in CASES} == named().keys() - OPEN


def test_every_variable_of_a_line_is_in_the_example_file() -> None:
    """It is the page that people copy."""
    written = (ROOT / ".env.example").read_text(encoding="utf-8")
    listed = set(re.findall(r"(?m)^#?([A-Z][A-Z0-9_]*)=", written))

    assert named().keys() - OPEN <= listed


def test_lines_whose_effect_is_not_shown_on_a_process_are_known() -> None:
    """A setting that is loaded and changes nothing would pass every test above."""
    marked = requirements.marks(ROOT / "tests")
    lines = {line for variable, found in named().items() if variable not in OPEN for line in found}
    shown = {
        line
        for line in lines
        for mark in marked.get(line, [])
        if not mark.part and requirements.LEVELS.index(mark.level) >= requirements.LEVELS.index("process")
    }

    assert lines - shown == WITHOUT_EFFECT
