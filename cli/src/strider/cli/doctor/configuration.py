"""Checks of the configuration: set variables, unknown names, invalid values, profiles.

Reads the environment and files. Prints no secret: the value of a secret is shown as stars.
"""

from __future__ import annotations

import stat
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from pydantic import SecretStr

from strider.cli.arguments import closest
from strider.cli.profiles import FILE_NAME, ProfileError, find_profiles, read_profiles
from strider.runtime.settings.base import ServiceSettings
from strider.runtime.settings.help import settings_classes
from strider.runtime.settings.loader import (
    COMMAND_VARIABLES,
    MISSPELLING_CUTOFF,
    SHARED_PREFIXES,
    SettingField,
    SettingsError,
    load_settings,
    setting_fields,
)

from .checks import Check, CheckFinding, CheckStatus
from .secret_keys import AREA, SHARED_KEYS

CONTACT_VARIABLE: Final = "STRIDER_CONTACT"
UNGUARDED_PREFIX: Final = "CRAWLER_"
"""Beginning of settings of which services do not refuse unknown ones."""
MASK: Final = "**********"
_SECRET_WORDS: Final = ("PASSWORD", "SECRET", "TOKEN", "KEY", "DSN", "URL")
"""Parts of names whose values may contain a password."""
_UNKNOWN: Final = "there is no such setting"
"""Of the problems of `load`; unknown names are checked here, for all services at once."""


def configuration_checks(environment: Mapping[str, str], directory: Path) -> Iterator[Check]:
    """Return the checks."""
    yield Check(AREA, "settings", lambda: _check_values(environment))
    yield Check(AREA, "names", lambda: _check_names(environment))
    yield Check(AREA, "contact", lambda: _check_contact(environment))
    yield Check(AREA, "profiles", lambda: _check_profiles(environment, directory))
    for each in SHARED_KEYS:
        yield Check(AREA, each.name, partial(each.run, environment, directory))


def _finding(name: str, status: CheckStatus, detail: str, remedy: str = "") -> CheckFinding:
    return CheckFinding(AREA, name, status, detail, remedy)


def _all_classes() -> list[type[ServiceSettings]]:
    return [ServiceSettings, *settings_classes()]


def _all_knobs() -> dict[str, SettingField]:
    return {knob.variable: knob for each in _all_classes() for knob in setting_fields(each)}


def _check_values(environment: Mapping[str, str]) -> Sequence[CheckFinding]:
    """List the variables that are set, and report those with an invalid value."""
    problems: dict[str, None] = {}
    for each in _all_classes():
        try:
            load_settings(each, environment)
        except SettingsError as failure:
            problems.update(dict.fromkeys(text for text in failure.problems if _UNKNOWN not in text))
    known = _all_knobs()
    names = sorted(
        name
        for name in environment
        if name in known or name.removesuffix("_FILE") in known or name in COMMAND_VARIABLES
    )
    broken = {text.partition(":")[0] for text in problems}
    found = [
        _finding("settings", CheckStatus.FAULT, text, f"change or unset {text.partition(':')[0]}")
        for text in problems
    ]
    found += [
        _finding("settings", CheckStatus.OK, f"{name}={shown_value(name, environment[name], known)}")
        for name in names
        if name not in broken
    ]
    return found or [_finding("settings", CheckStatus.OK, "no variable is set: defaults apply")]


def shown_value(name: str, value: str, known: Mapping[str, SettingField]) -> str:
    """Return a value as it may be printed: without passwords."""
    knob = known.get(name)
    annotation = str(knob.info.annotation) if knob is not None else ""
    is_secret = (
        "Secret" in annotation
        or (knob is not None and isinstance(knob.info.default, SecretStr))
        or any(word in name for word in _SECRET_WORDS)
    )
    if not is_secret or name.endswith("_FILE"):
        return value
    scheme, mark, rest = value.partition("://")
    if not mark:
        return MASK
    account, at, place = rest.rpartition("@")
    user = account.partition(":")[0]
    return (
        f"{scheme}://{user}:{MASK}@{place}" if at and ":" in account else f"{scheme}://{account}{at}{place}"
    )


def _check_names(environment: Mapping[str, str]) -> Sequence[CheckFinding]:
    """Report variables that begin like a setting and are none, with the name that was probably meant."""
    known = set(_all_knobs()) | set(COMMAND_VARIABLES)
    own = ("STRIDER_", *(each.PREFIX for each in settings_classes() if each.PREFIX))
    found = []
    for name in sorted(environment):
        if name in known or name.removesuffix("_FILE") in known:
            continue
        near = closest(name, known)
        if name.startswith(own):
            remedy = f"did you mean {near}? Services refuse to start with it" if near else f"unset {name}"
            found.append(_finding("names", CheckStatus.FAULT, f"{name} is not a setting", remedy))
        elif name.startswith(UNGUARDED_PREFIX):
            remedy = f"did you mean {near}?" if near else f"unset {name}"
            found.append(_finding("names", CheckStatus.WARNING, f"{name} has no effect", remedy))
        elif name.startswith(SHARED_PREFIXES) and closest(name, known, cutoff=MISSPELLING_CUTOFF):
            detail = f"{name} is not a setting of strider, but looks like {near}"
            found.append(_finding("names", CheckStatus.WARNING, detail, f"did you mean {near}?"))
    return found or [_finding("names", CheckStatus.OK, "no unknown variable")]


def _check_contact(environment: Mapping[str, str]) -> Sequence[CheckFinding]:
    """Report a missing contact, without which only loopback is crawled."""
    if environment.get(CONTACT_VARIABLE) or environment.get(f"{CONTACT_VARIABLE}_FILE"):
        return [_finding("contact", CheckStatus.OK, "site owners can write to the contact")]
    detail = f"{CONTACT_VARIABLE} is not set: only loopback addresses are crawled"
    remedy = f"set {CONTACT_VARIABLE} to a URL or mail address for site owners"
    return [_finding("contact", CheckStatus.WARNING, detail, remedy)]


def _check_profiles(environment: Mapping[str, str], directory: Path) -> Sequence[CheckFinding]:
    path = find_profiles(environment, directory)
    if path is None:
        return [_finding("profiles", CheckStatus.OK, f"no {FILE_NAME}")]
    try:
        profiles = read_profiles(path)
        mode = path.stat().st_mode
    except (ProfileError, OSError) as failure:
        return [_finding("profiles", CheckStatus.FAULT, str(failure), f"correct {path}")]
    detail = f"{path}: {', '.join(sorted(profiles)) or 'empty'}"
    if mode & (stat.S_IRGRP | stat.S_IROTH):
        detail += "; other users can read it"
        return [_finding("profiles", CheckStatus.WARNING, detail, f"chmod 600 {path}")]
    return [_finding("profiles", CheckStatus.OK, detail)]
