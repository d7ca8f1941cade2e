"""Settings as text for people: `--print-config`, `--help` and `.env.example`.

    python -m strider.runtime.settings.help > .env.example

A secret's value never leaves this module: it is shown as stars, and an address without its password.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from importlib import import_module
from importlib.metadata import entry_points
from itertools import groupby
from typing import Any

from pydantic import BaseModel, SecretStr
from pydantic_core import PydanticUndefined

from .base import ServiceSettings
from .loader import COMMAND_VARIABLES, LoadedSettings, SettingField, setting_fields

ENTRY_POINT_GROUPS = ("strider.services", "strider.examples")
"""Entry point groups of what can be run; each entry's package holds one settings class."""


def render_config(loaded: LoadedSettings[Any]) -> str:
    """Render every value in force and its origin, secrets hidden (`--print-config`)."""
    rows = [
        (setting.variable, _display(_value(loaded.settings, setting)), loaded.origins[setting.variable])
        for setting in setting_fields(type(loaded.settings))
    ]
    wide = max(len(f"{name}={value}") for name, value, _ in rows)
    return "".join(f"{f'{name}={value}':<{wide}}  # {origin}\n" for name, value, origin in rows)


def render_help(name: str, settings_class: type[ServiceSettings]) -> str:
    """Render two options, and all variables with their sentences (`--help`)."""
    about = " ".join((sys.modules[settings_class.__module__].__doc__ or "").split("\n\n")[0].split())
    lines = [
        f"usage: {name} [--help] [--print-config]",
        "",
        about,
        "",
        "All other settings are environment variables;",
    ]
    lines += ["NAME_FILE names a file that holds the value of NAME.", ""]
    own = {setting.variable: setting for setting in setting_fields(settings_class)}
    for setting in own.values():
        lines += [f"  {setting.variable} ({_default_text(setting)})", f"      {setting.description}"]
    others = {name: sentence for name, sentence in COMMAND_VARIABLES.items() if name not in own}
    lines += [f"  {variable}\n      {sentence}" for variable, sentence in others.items()]
    return "\n".join(lines) + "\n"


def render_environment(classes: Iterable[type[ServiceSettings]]) -> str:
    """Render `.env.example`: every variable once, with its sentence and its default, grouped by area."""
    lines = [
        "# Every variable, with its default. Written by: python -m strider.runtime.settings.help",
        "# NAME_FILE=/path reads the value of NAME from a file, as secrets are mounted into containers.",
    ]
    seen: set[str] = set()
    ordered = sorted(classes, key=lambda known: (known.PREFIX != "", known.PREFIX))
    every: list[type[ServiceSettings]] = [ServiceSettings, *ordered]
    for settings_class in every:
        for title, group in groupby(setting_fields(settings_class), key=lambda setting: setting.owner):
            fresh = [setting for setting in group if setting.variable not in seen]
            seen |= {setting.variable for setting in fresh}
            lines += _section(title, fresh)
    lines += ["", "## The command and its folders"]
    for variable, sentence in COMMAND_VARIABLES.items():
        lines += [] if variable in seen else ["", f"# {sentence}", f"#{variable}="]
    return "\n".join(lines) + "\n"


def _section(owner: type[BaseModel], fresh: list[SettingField]) -> Iterator[str]:
    if not fresh:
        return
    yield from ("", f"## {' '.join((owner.__doc__ or owner.__name__).split())}")
    for setting in fresh:
        default = "" if setting.info.is_required() else _variable_text(setting.info.get_default())
        mark = "" if setting.info.is_required() else "#"
        yield from ("", f"# {setting.description}", f"{mark}{setting.variable}={default}")


def settings_classes(groups: Iterable[str] = ENTRY_POINT_GROUPS) -> list[type[ServiceSettings]]:
    """Return the settings class of everything installed that can be run."""
    found: dict[str, type[ServiceSettings]] = {}
    for group in groups:
        for entry in entry_points(group=group):
            module = import_module(entry.module.removesuffix(".__main__") + ".settings")
            for value in vars(module).values():
                if isinstance(value, type) and issubclass(value, ServiceSettings) and value.PREFIX:
                    found[value.PREFIX] = value
    return [found[prefix] for prefix in sorted(found)]


def _value(settings: BaseModel, setting: SettingField) -> Any:
    owner = settings if setting.owner is type(settings) else getattr(settings, setting.area)
    return getattr(owner, setting.field)


def _default_text(setting: SettingField) -> str:
    default = setting.info.get_default()
    if default is PydanticUndefined:
        return "must be set"
    return f"default: {_display(default)}" if _display(default) else "default: empty"


def _display(value: Any) -> str:
    return str(value) if isinstance(value, SecretStr) else _variable_text(value)


def _variable_text(value: Any) -> str:
    """Return a value as the text of its variable."""
    if isinstance(value, SecretStr):
        return value.get_secret_value()
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ",".join(str(part) for part in value)
    if isinstance(value, float):
        return f"{value:g}"
    return str(value)


if __name__ == "__main__":
    sys.stdout.write(render_environment(settings_classes()))
