"""Checks of keys that services share: of owners, and of personal headers.

The keys of the local stack are compared with those of the environment; no key is printed. The length of a key
is checked with all other settings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from strider.cli.seeds.credentials import SenderSettings
from strider.localstack.directories import find_stack_directory
from strider.localstack.plan.headers_key import read_headers_key
from strider.localstack.plan.key_files import split_keys
from strider.localstack.plan.owner_key import read_owner_key
from strider.runtime.settings.loader import SettingsError, load_settings

from .checks import CheckFinding, CheckStatus

AREA: Final = "configuration"


@dataclass(frozen=True, slots=True)
class _SharedKey:
    """A key that services share, and the texts about it."""

    name: str
    variable: str
    use: str
    """Its use, before the source of the key."""
    difference: str
    """Consequence where the environment and the stack have different ones."""
    absence: str
    """Consequence where there is none."""
    remedy: str
    """Remedy where there is none."""


_OWNER_KEY: Final = _SharedKey(
    "owner-key",
    "STRIDER_OWNER_KEY",
    use="seeds are signed with",
    difference="differs from the key of the local stack, whose broker gets the latter",
    absence="seeds from here are raw, with names that begin with raw. and within the limits STRIDER_SEEDS_*; "
    "without it link-ingestion refuses signed seeds",
    remedy="set it here, for link-ingestion and for the API, or run: strider up",
)
_HEADERS_KEY: Final = _SharedKey(
    "headers-key",
    "STRIDER_HEADERS_KEY",
    use="personal headers are encrypted with",
    difference="differs from the keys of the local stack: its services cannot decrypt what is encrypted with "
    "it, and seeds for its broker are encrypted with the key of the stack",
    absence="seeds with personal headers (Authorization, Cookie, keys, tokens) are refused",
    remedy="set it here, for link-ingestion, the fetcher and the API, or run: strider up",
)


def check_owner_key(environment: Mapping[str, str], directory: Path) -> Sequence[CheckFinding]:
    """Report whether seeds from here are signed as an owner's, and what it means if not."""
    if (settings := _settings(environment)) is None:
        return [_unchecked(_OWNER_KEY)]
    own = settings.owner.key.get_secret_value()
    stack = read_owner_key(find_stack_directory(environment, directory))
    return [_finding(_OWNER_KEY, {own} - {""}, {stack} - {""})]


def check_headers_key(environment: Mapping[str, str], directory: Path) -> Sequence[CheckFinding]:
    """Report whether personal headers can be given with seeds, and whether the stack's fetchers read them."""
    if (settings := _settings(environment)) is None:
        return [_unchecked(_HEADERS_KEY)]
    own = split_keys(settings.headers.key.get_secret_value())
    stack = split_keys(read_headers_key(find_stack_directory(environment, directory)))
    return [_finding(_HEADERS_KEY, set(own), set(stack))]


def _settings(environment: Mapping[str, str]) -> SenderSettings | None:
    try:
        return load_settings(SenderSettings, environment).settings
    except SettingsError:
        return None


def _finding(key: _SharedKey, own: set[str], stack: set[str]) -> CheckFinding:
    """Compare the keys of the environment with those of the stack."""
    if own and stack and not own <= stack:
        remedy = f"unset {key.variable}, or run: strider up"
        return _warning(key, f"{key.variable} {key.difference}", remedy)
    if own or stack:
        source = key.variable if own else "the key of the local stack"
        return CheckFinding(AREA, key.name, CheckStatus.OK, f"{key.use} {source}")
    return _warning(key, f"{key.variable} is not set: {key.absence}", key.remedy)


def _warning(key: _SharedKey, detail: str, remedy: str) -> CheckFinding:
    return CheckFinding(AREA, key.name, CheckStatus.WARNING, detail, remedy)


def _unchecked(key: _SharedKey) -> CheckFinding:
    return CheckFinding(AREA, key.name, CheckStatus.WARNING, "not checked: the settings above are invalid")
