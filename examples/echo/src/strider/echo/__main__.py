"""Entry point: settings -> rules -> topology -> run."""

from __future__ import annotations

from strider.runtime.process.main import ServiceContext, ServiceDefinition, consume, run_service
from strider.storage.objects import ObjectOptions, open_object_store

from .core import Rules
from .settings import EchoSettings
from .topology import DEAD_LETTERS, PRODUCES, Echo


def build(process: ServiceContext[EchoSettings]) -> ServiceDefinition:
    """Return the definition of the service."""
    settings = process.settings
    echo = Echo(Rules(settings.answer_prefix, settings.max_text_chars))
    consumption = consume("echo", *echo.subscriptions())
    if not (url := settings.objects.url.get_secret_value()):
        return ServiceDefinition((consumption,), PRODUCES, DEAD_LETTERS)
    objects = open_object_store(ObjectOptions(url), clock=process.clock)
    return ServiceDefinition((consumption,), PRODUCES, DEAD_LETTERS, objects=objects, close=(objects.close,))


def main() -> int:
    """Run until stopped; return the exit code."""
    return run_service("echo", EchoSettings, build)


if __name__ == "__main__":
    raise SystemExit(main())
