"""Checks of keys that services share: of owners, and of personal headers.
The keys of the local stack are compared with those of the environment; no key is printed. The length of a key
is checked with all other settings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from strider.cli.seeds.credentials import SenderSettings
from strider.localstack.directories import find_stack_directory
from strider.localstack.plan.headers_key import read_headers_key
from strider.localstack.plan.owner_key import read_owner_key
from strider.runtime.settings.loader import SettingsError, load_settings

from .checks import CheckFinding, CheckStatus

AREA: Final = "configuration"


def check_owner_key(environment: Mapping[str, str], directory: Path) -> Sequence[CheckFinding]:
    """Report whether seeds from here are signed as an owner's, and what it means if not."""
    try:
        own = load_settings(SenderSettings, environment).settings.owner.key.get_secret_value()
    except SettingsError:
        return [_unchecked("owner-key")]
    stack = read_owner_key(find_stack_directory(environment, directory))
    if own and stack and own != stack:
        detail = "STRIDER_OWNER_KEY differs from the key of the local stack, whose broker gets the latter"
        return [_warning("owner-key", detail, "unset STRIDER_OWNER_KEY, or run: strider up")]
    if own or stack:
        source = "STRIDER_OWNER_KEY" if own else "the key of the local stack"
        return [_ok("owner-key", f"seeds are signed with {source}")]
    detail = (
        "STRIDER_OWNER_KEY is not set: seeds from here are raw, with names that begin with raw. and "
        "within the limits STRIDER_SEEDS_*; without it link-ingestion refuses signed seeds"
    )
    remedy = "set it here, for link-ingestion and for the API, or run: strider up"
    return [_warning("owner-key", detail, remedy)]


def check_headers_key(environment: Mapping[str, str], directory: Path) -> Sequence[CheckFinding]:
    """Report whether personal headers can be given with seeds, and whether the stack's fetchers read them."""
    try:
        text = load_settings(SenderSettings, environment).settings.headers.key.get_secret_value()
    except SettingsError:
        return [_unchecked("headers-key")]
    own = text.replace(",", " ").split()
    stack = read_headers_key(find_stack_directory(environment, directory)).replace(",", " ").split()
    if own and stack and not set(own) <= set(stack):
        detail = (
            "STRIDER_HEADERS_KEY differs from the keys of the local stack: its services cannot decrypt what "
            "is encrypted with it, and seeds for its broker are encrypted with the key of the stack"
        )
        return [_warning("headers-key", detail, "unset STRIDER_HEADERS_KEY, or run: strider up")]
    if own or stack:
        source = "STRIDER_HEADERS_KEY" if own else "the key of the local stack"
        return [_ok("headers-key", f"personal headers are encrypted with {source}")]
    detail = (
        "STRIDER_HEADERS_KEY is not set: seeds with personal headers (Authorization, Cookie, keys, tokens) "
        "are refused"
    )
    remedy = "set it here, for link-ingestion, the fetcher and the API, or run: strider up"
    return [_warning("headers-key", detail, remedy)]


def _ok(name: str, detail: str) -> CheckFinding:
    return CheckFinding(AREA, name, CheckStatus.OK, detail)


def _warning(name: str, detail: str, remedy: str) -> CheckFinding:
    return CheckFinding(AREA, name, CheckStatus.WARNING, detail, remedy)


def _unchecked(name: str) -> CheckFinding:
    return CheckFinding(AREA, name, CheckStatus.WARNING, "not checked: the settings above are invalid")
