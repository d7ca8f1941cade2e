"""The Redis that a command means: what the environment names, else that of the local stack here."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from strider.localstack.plan.endpoints import common_settings, read_endpoints
from strider.messaging.errors import StartRefused
from strider.runtime.settings.loader import SettingsError
from strider.storage.redis import Redis, connect, redis_options

from .topics_broker import EXIT_USAGE, fail

PATIENCE_SECONDS: Final = 5.0
"""Who waits at a terminal for an answer waits longer than a service."""


def working_set_url() -> str:
    """Find the address; ends the command where there is none."""
    url = read_endpoints(os.environ, Path.cwd()).get("redis", "")
    if not url:
        fail("no working set is named: set REDIS_URL, or start one by: strider up", EXIT_USAGE)
    return url


def open_working_set(url: str) -> Redis:
    """Open what is at an address; raises StartRefused where that cannot be, whoever answers there."""
    try:
        settings = common_settings(os.environ)
    except SettingsError as failure:
        raise StartRefused(str(failure)) from failure
    return connect(redis_options(settings.redis, url=url, timeout_seconds=PATIENCE_SECONDS))
