"""The stack's owner key: made once, private, and the one that its services have."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from strider.localstack.directories import StackDirectory
from strider.localstack.plan.owner_key import owner_key_file, provide_owner_key, read_owner_key
from strider.localstack.plan.services import find_services
from strider.localstack.plan.stack_plan import StackPlan
from strider.localstack.stack_state import DesiredState
from strider.runtime.settings.loader import SettingsError
from strider.testing.owner import OWNER_KEY, OWNER_SETTINGS


@pytest.fixture
def home(tmp_path: Path) -> StackDirectory:
    return StackDirectory(tmp_path / "home")


def test_the_key_is_made_once_and_kept_private(home: StackDirectory) -> None:
    """Seeds signed by it are on their topic for weeks, longer than the stack runs."""
    key = provide_owner_key(home, {})

    assert provide_owner_key(home, {}) == read_owner_key(home) == key
    assert len(key) == 64
    assert stat.S_IMODE(owner_key_file(home).stat().st_mode) == 0o600
    assert [path.name for path in (home.root / "data").iterdir()] == ["owner.key"], (
        "no unfinished file is left"
    )


@pytest.mark.parametrize("is_in_file", [False, True])
def test_a_key_of_the_environment_wins_and_is_found_by_other_shells(
    home: StackDirectory, tmp_path: Path, *, is_in_file: bool
) -> None:
    (tmp_path / "key").write_text(f"{OWNER_KEY}\n")
    named = {"STRIDER_OWNER_KEY_FILE": str(tmp_path / "key")} if is_in_file else OWNER_SETTINGS
    first = provide_owner_key(home, {})

    assert provide_owner_key(home, named) == OWNER_KEY != first
    assert read_owner_key(home) == OWNER_KEY
    assert stat.S_IMODE(owner_key_file(home).stat().st_mode) == 0o600


def test_a_key_that_is_too_short_starts_no_stack(home: StackDirectory) -> None:
    with pytest.raises(SettingsError, match="STRIDER_OWNER_KEY: must have 32 characters"):
        provide_owner_key(home, {"STRIDER_OWNER_KEY": "short"})
    assert read_owner_key(home) == ""


def test_only_services_that_verify_or_sign_have_the_key(home: StackDirectory) -> None:
    services = find_services()
    ports = {f"health:{kind.name}": number for number, kind in enumerate(services, 1)} | {"api": 99}
    plan = StackPlan(home, {"STRIDER_OWNER_KEY": OWNER_KEY}, services, ports)

    processes = plan.service_processes(DesiredState(examples=True))

    assert {name for name, each in processes.items() if OWNER_KEY in each.environment.values()} == {
        "api",
        "link-ingestion",
        "scheduler",
    }
