"""All checks of `strider doctor`, in the order in which they are printed."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path

from strider.cli.output import log_to_stderr

from .checks import DEADLINE_SECONDS, CheckReport, run_checks
from .configuration import configuration_checks
from .installation import installation_checks
from .machine import machine_checks
from .servers import server_checks


def run_doctor(
    environment: Mapping[str, str], directory: Path, *, deadline_seconds: float = DEADLINE_SECONDS
) -> CheckReport:
    """Run all checks for an environment and a folder."""
    log_to_stderr("critical")
    logging.getLogger("asyncio").setLevel(logging.CRITICAL + 1)
    return run_checks(
        [
            *installation_checks(environment),
            *configuration_checks(environment, directory),
            *server_checks(environment, directory, deadline_seconds=deadline_seconds),
            *machine_checks(environment, directory, deadline_seconds=deadline_seconds),
        ],
        deadline_seconds=deadline_seconds,
    )
