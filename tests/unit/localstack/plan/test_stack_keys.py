"""Keys of the stack: made once, private, and given to the services that use them."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from strider.localstack.directories import StackDirectory
from strider.localstack.plan.services import find_services
from strider.localstack.plan.stack_keys import HEADERS_KEY, JWT_SECRET, OWNER_KEY, STACK_KEYS, StackKey
from strider.localstack.plan.stack_plan import StackPlan
from strider.localstack.stack_state import DesiredState
from strider.runtime.settings.loader import SettingsError

OTHER = "key-of-another-origin-0123456789abcdef"

each_key = pytest.mark.parametrize("key", STACK_KEYS, ids=lambda key: key.variable)
REPLACED = [key for key in STACK_KEYS if not key.keeps_earlier]


@pytest.fixture
def home(tmp_path: Path) -> StackDirectory:
    return StackDirectory(tmp_path / "home")


@each_key
def test_the_key_is_made_once_and_kept_private(home: StackDirectory, key: StackKey) -> None:
    """What was signed or encrypted with it lives longer than the stack runs."""
    made = key.provide(home, {})

    assert key.provide(home, {}) == key.read(home) == made
    assert len(made) == 64
    assert stat.S_IMODE(key.path(home).stat().st_mode) == 0o600
    assert [path.name for path in (home.root / "data").iterdir()] == [key.file], "no unfinished file is left"


@each_key
@pytest.mark.parametrize("is_in_file", [False, True])
def test_a_key_of_the_environment_wins_and_is_found_by_other_shells(
    home: StackDirectory, tmp_path: Path, key: StackKey, *, is_in_file: bool
) -> None:
    (tmp_path / "key").write_text(f"{OTHER}\n")
    named = {f"{key.variable}_FILE": str(tmp_path / "key")} if is_in_file else {key.variable: OTHER}
    first = key.provide(home, {})

    expected = f"{OTHER},{first}" if key.keeps_earlier else OTHER
    assert key.provide(home, named) == key.provide(home, named) == expected != first
    assert key.read(home) == expected
    assert key.provide(home, {}) == expected
    assert stat.S_IMODE(key.path(home).stat().st_mode) == 0o600


def test_only_keys_that_decrypt_what_is_stored_keep_the_earlier_ones() -> None:
    """An owner's key or a secret of tokens that is replaced is often one that became known."""
    assert REPLACED == [OWNER_KEY, JWT_SECRET]


@pytest.mark.parametrize(
    ("key", "text", "message"),
    [
        (OWNER_KEY, "short", "STRIDER_OWNER_KEY: must have 32 characters"),
        (HEADERS_KEY, f"{OTHER}, short", "STRIDER_HEADERS_KEY: must be keys of 32 characters"),
        (JWT_SECRET, "short", "AUTH_JWT_SECRET: must be keys of 32 characters"),
        (JWT_SECRET, f"{OTHER},short", "AUTH_JWT_SECRET: must be keys of 32 characters"),
    ],
)
def test_a_key_that_is_too_short_starts_no_stack(
    home: StackDirectory, key: StackKey, text: str, message: str
) -> None:
    with pytest.raises(SettingsError, match=message) as refused:
        key.provide(home, {key.variable: text})
    assert "'short'" not in str(refused.value)
    assert OTHER not in str(refused.value)
    assert key.read(home) == ""


@each_key
def test_only_services_that_use_the_key_have_it(home: StackDirectory, key: StackKey) -> None:
    services = find_services()
    ports = {f"health:{kind.name}": number for number, kind in enumerate(services, 1)} | {"api": 99}
    plan = StackPlan(home, {key.variable: OTHER}, services, ports)

    processes = plan.service_processes(DesiredState(examples=True))

    having = {name for name, each in processes.items() if OTHER in each.environment.values()}
    assert having == key.services
    assert {"api"} <= having


def test_the_stack_gives_its_own_keys_where_the_environment_has_none(
    home: StackDirectory,
) -> None:
    services = find_services()
    ports = {f"health:{kind.name}": number for number, kind in enumerate(services, 1)} | {"api": 99}

    api = StackPlan(home, {}, services, ports).service_processes(DesiredState())["api"]

    assert {key.variable: api.environment[key.variable] for key in STACK_KEYS} == {
        key.variable: key.read(home) for key in STACK_KEYS
    }
