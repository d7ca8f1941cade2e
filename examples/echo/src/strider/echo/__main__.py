"""settings -> rules -> topology -> run."""

from __future__ import annotations

from strider.runtime.service import Process, Wiring, consume, run_service

from .core import Rules
from .settings import EchoSettings
from .topology import DEAD_LETTERS, PRODUCES, Echo


def build(process: Process[EchoSettings]) -> Wiring:
    """Put the service together."""
    settings = process.settings
    echo = Echo(Rules(settings.answer_prefix, settings.max_text_chars))
    return Wiring((consume("echo", *echo.reads()),), PRODUCES, DEAD_LETTERS)


def main() -> int:
    """Run until told to stop."""
    return run_service("echo", EchoSettings, build)


if __name__ == "__main__":
    raise SystemExit(main())
