"""Checks of keys that services share: of owners, of personal headers, of the API's tokens.

The keys of the local stack are compared with those of the environment; no key is printed. The length of a key
is checked with all other settings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from strider.localstack.directories import find_stack_directory
from strider.localstack.plan.key_files import split_keys
from strider.localstack.plan.stack_keys import HEADERS_KEY, JWT_SECRET, OWNER_KEY, StackKey, configured_keys
from strider.runtime.settings.loader import SettingsError

from .checks import CheckFinding, CheckStatus

AREA: Final = "configuration"


@dataclass(frozen=True, slots=True)
class SharedKeyCheck:
    """The check of a key that services share: the key, and the texts about it."""

    name: str
    key: StackKey
    use: str
    """Its use, before the source of the key."""
    difference: str
    """Consequence where the environment and the stack have different ones."""
    absence: str
    """Consequence where there is none."""
    remedy: str
    """Remedy where there is none."""

    @property
    def variable(self) -> str:
        """Variable that names the key."""
        return self.key.variable

    def run(self, environment: Mapping[str, str], directory: Path) -> Sequence[CheckFinding]:
        """Compare the keys of the environment with those of the local stack."""
        try:
            named = configured_keys(environment)[self.variable]
        except SettingsError:
            return [_warning(self, "not checked: the settings above are invalid", "")]
        kept = self.key.read(find_stack_directory(environment, directory))
        return [_finding(self, set(split_keys(named)), set(split_keys(kept)))]


SHARED_KEYS: Final = (
    SharedKeyCheck(
        "owner-key",
        OWNER_KEY,
        use="seeds are signed with",
        difference="differs from the key of the local stack, whose broker gets the latter",
        absence="seeds from here are raw, with names that begin with raw. and within the limits "
        "STRIDER_SEEDS_*; without it link-ingestion refuses signed seeds",
        remedy="set it here, for link-ingestion and for the API, or run: strider up",
    ),
    SharedKeyCheck(
        "headers-key",
        HEADERS_KEY,
        use="personal headers are encrypted with",
        difference="differs from the keys of the local stack: its services cannot decrypt what is encrypted "
        "with it, and seeds for its broker are encrypted with the key of the stack",
        absence="seeds with personal headers (Authorization, Cookie, keys, tokens) are refused",
        remedy="set it here, for link-ingestion, the fetcher and the API, or run: strider up",
    ),
    SharedKeyCheck(
        "jwt-secret",
        JWT_SECRET,
        use="tokens of the API are signed with",
        difference="differs from the secret of the local stack: its API refuses tokens that are signed with "
        "it",
        absence="strider token makes none, and an API that is started from here refuses to start",
        remedy="set it here and for the API, or run: strider up",
    ),
)


def _finding(key: SharedKeyCheck, own: set[str], stack: set[str]) -> CheckFinding:
    """Compare the keys of the environment with those of the stack."""
    if own and stack and not own <= stack:
        remedy = f"unset {key.variable}, or run: strider up"
        return _warning(key, f"{key.variable} {key.difference}", remedy)
    if own or stack:
        source = key.variable if own else "the key of the local stack"
        return CheckFinding(AREA, key.name, CheckStatus.OK, f"{key.use} {source}")
    return _warning(key, f"{key.variable} is not set: {key.absence}", key.remedy)


def _warning(key: SharedKeyCheck, detail: str, remedy: str) -> CheckFinding:
    return CheckFinding(AREA, key.name, CheckStatus.WARNING, detail, remedy)
