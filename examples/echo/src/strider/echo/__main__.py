"""Entry point: settings -> rules -> topology -> run."""

from __future__ import annotations

from strider.runtime.process.main import ServiceContext, ServiceDefinition, consume, run_service
from strider.storage.objects import open_configured_objects

from .core import Rules
from .settings import EchoSettings
from .topology import DEAD_LETTERS, PRODUCES, Echo


def build(process: ServiceContext[EchoSettings]) -> ServiceDefinition:
    """Return the definition of the service."""
    settings = process.settings
    echo = Echo(Rules(settings.answer_prefix, settings.max_text_chars))
    consumption = consume("echo", *echo.subscriptions())
    objects = open_configured_objects(settings.objects, clock=process.clock)
    return ServiceDefinition((consumption,), PRODUCES, DEAD_LETTERS, objects=objects)


def main() -> int:
    """Run until stopped; return the exit code."""
    return run_service("echo", EchoSettings, build)


if __name__ == "__main__":
    raise SystemExit(main())
