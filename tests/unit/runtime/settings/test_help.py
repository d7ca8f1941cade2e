"""Settings as text: nothing hidden is shown, and the committed example is current."""

from __future__ import annotations

from pathlib import Path

import pytest

from strider.echo.settings import EchoSettings
from strider.runtime.settings.help import render_config, render_environment, render_help, settings_classes
from strider.runtime.settings.loader import load_settings, setting_fields

ROOT = Path(__file__).resolve().parents[4]


@pytest.mark.req("S1.3.1")
def test_the_config_shows_values_and_origins_but_no_secret() -> None:
    loaded = load_settings(
        EchoSettings,
        {
            "POSTGRES_DSN": "postgresql://u:s3cret@h/d",
            "KAFKA_SASL_PASSWORD": "s3cret",
            "STALL_THRESHOLD": "2m",
            "OTEL_EXPORTER_OTLP_ENDPOINT": "http://h:4318/v1?api_key=s3cret",
        },
    )

    text = render_config(loaded)

    lines = {line.split("=")[0]: line.split("=", 1)[1] for line in text.splitlines()}
    assert "s3cret" not in text
    assert lines["POSTGRES_DSN"].split() == ["postgresql://u:***@h/d", "#", "environment"]
    assert lines["KAFKA_SASL_PASSWORD"].split() == ["**********", "#", "environment"]
    assert lines["OTEL_EXPORTER_OTLP_ENDPOINT"].split()[0] == "http://h:4318/v1?api_key=***"
    assert lines["STALL_THRESHOLD"].split() == ["120", "#", "environment"]
    assert lines["STRIDER_ALLOW_PRIVATE"].split() == ["false", "#", "default"]


def test_help_names_every_variable_with_its_sentence() -> None:
    text = render_help("echo", EchoSettings)

    assert text.startswith("usage: echo [--help] [--print-config]\n")
    assert all(knob.variable in text and knob.description in text for knob in setting_fields(EchoSettings))


def test_the_example_environment_is_current() -> None:
    """Written again by: python -m strider.runtime.settings.help > .env.example."""
    committed = (ROOT / ".env.example").read_text(encoding="utf-8")

    assert committed == render_environment(settings_classes())


def test_the_example_environment_is_what_is_in_force_without_it() -> None:
    """Who copies the file and takes the comment signs away must change nothing."""
    environ = {}
    for line in render_environment(settings_classes()).splitlines():
        name, equals, value = line.removeprefix("#").partition("=")
        if equals and name.isupper() and not name.startswith(("#", " ")):
            environ[name] = value

    assert load_settings(EchoSettings, environ).settings == EchoSettings()
    assert {knob.variable for knob in setting_fields(EchoSettings)} <= environ.keys()
