"""The settings of each service in docker-compose.yml: the variables of `.env` that reach its container."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from strider.runtime.settings.base import ServiceSettings
from strider.runtime.settings.help import settings_classes
from strider.runtime.settings.loader import setting_fields

ROOT = Path(__file__).parents[1]
FILE = ROOT / "docker-compose.yml"

_BLOCK: Final = re.compile(r"(# <settings>\n).*?(# </settings>\n)", re.DOTALL)


def service_variables() -> dict[str, list[str]]:
    """Return the variables of each service beyond those of all, in the order of their declarations."""
    common = set(_variables(ServiceSettings))
    return {
        known.__module__.split(".")[1].replace("_", "-"): [
            name for name in _variables(known) if name not in common
        ]
        for known in settings_classes()
    }


def render() -> str:
    """Return the file with the block of settings as it is now; a variable without a value is that of .env."""
    lines = ["x-common-settings: &common-settings", *_entries(_variables(ServiceSettings))]
    for service, variables in sorted(service_variables().items()):
        lines += ["", f"x-{service}-settings: &{service}-settings"]
        lines += ["  <<: *common-settings", *_entries(variables)]
    block = "\n".join(lines)
    text = FILE.read_text(encoding="utf-8")
    if not _BLOCK.search(text):
        raise SystemExit(f"{FILE.name} has no place for the settings")
    return _BLOCK.sub(lambda found: f"{found[1]}{block}\n{found[2]}", text)


def _variables(known: type[ServiceSettings]) -> list[str]:
    return [setting.variable for setting in setting_fields(known)]


def _entries(variables: list[str]) -> list[str]:
    return [f"  {name}:" for name in variables]
