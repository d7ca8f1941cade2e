"""The stack's key of personal headers: made once, private, and earlier ones stay readable."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from strider.localstack.directories import StackDirectory
from strider.localstack.plan.headers_key import headers_key_file, provide_headers_key, read_headers_key
from strider.localstack.plan.services import HEADERS_SERVICES, find_services
from strider.localstack.plan.stack_plan import StackPlan
from strider.localstack.stack_state import DesiredState
from strider.runtime.settings.loader import SettingsError
from strider.testing.owner import HEADERS_KEY


@pytest.fixture
def home(tmp_path: Path) -> StackDirectory:
    return StackDirectory(tmp_path / "home")


def test_the_key_is_made_once_and_kept_private(home: StackDirectory) -> None:
    key = provide_headers_key(home, {})

    assert provide_headers_key(home, {}) == read_headers_key(home) == key
    assert len(key) == 64
    assert stat.S_IMODE(headers_key_file(home).stat().st_mode) == 0o600


def test_a_key_of_the_environment_encrypts_and_the_ones_before_still_decrypt(home: StackDirectory) -> None:
    """Crawl specs that were encrypted with them are kept for as long as their runs."""
    first = provide_headers_key(home, {})
    named = {"STRIDER_HEADERS_KEY": HEADERS_KEY}

    assert provide_headers_key(home, named) == f"{HEADERS_KEY},{first}"
    assert provide_headers_key(home, named) == read_headers_key(home) == f"{HEADERS_KEY},{first}"
    assert provide_headers_key(home, {}) == f"{HEADERS_KEY},{first}"
    assert stat.S_IMODE(headers_key_file(home).stat().st_mode) == 0o600


def test_a_key_that_is_too_short_starts_no_stack(home: StackDirectory) -> None:
    with pytest.raises(SettingsError, match="STRIDER_HEADERS_KEY: must be keys of 32 characters") as refused:
        provide_headers_key(home, {"STRIDER_HEADERS_KEY": f"{HEADERS_KEY}, short"})
    assert "short" not in str(refused.value).replace("too short", "")
    assert read_headers_key(home) == ""


def test_only_services_that_encrypt_or_decrypt_have_the_key(home: StackDirectory) -> None:
    services = find_services()
    ports = {f"health:{kind.name}": number for number, kind in enumerate(services, 1)} | {"api": 99}
    plan = StackPlan(home, {"STRIDER_HEADERS_KEY": HEADERS_KEY}, services, ports)

    processes = plan.service_processes(DesiredState(examples=True))

    assert {name for name, each in processes.items() if HEADERS_KEY in each.environment.values()} == (
        HEADERS_SERVICES
    )
