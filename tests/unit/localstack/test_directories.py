from __future__ import annotations

import os
from pathlib import Path

import pytest

from strider.localstack.directories import (
    StackDirectory,
    find_stack_directory,
    hold_lock,
    is_locked,
    lock_holder,
)
from strider.localstack.errors import SetupFailure, StackBusy
from strider.localstack.process.identity import identify
from strider.localstack.servers.kafka_jars import cache_directory


def test_the_named_home_is_taken(tmp_path: Path) -> None:
    assert find_stack_directory({"STRIDER_HOME": str(tmp_path / "x")}, tmp_path) == StackDirectory(
        tmp_path / "x"
    )


def test_a_stack_further_up_is_found_from_a_folder_within_the_project(tmp_path: Path) -> None:
    """`strider status` in libs/ must not say that nothing runs."""
    (tmp_path / ".strider").mkdir()
    (tmp_path / ".strider" / "stack.json").touch()
    inside = tmp_path / "libs" / "urls"

    assert find_stack_directory({}, inside) == StackDirectory(tmp_path / ".strider")


def test_without_one_it_is_here(tmp_path: Path) -> None:
    assert find_stack_directory({}, tmp_path) == StackDirectory(tmp_path / ".strider")


def test_a_lock_is_held_by_one_at_a_time(tmp_path: Path) -> None:
    lock = tmp_path / "run" / "command.lock"
    assert not is_locked(lock)

    with hold_lock(lock):
        assert is_locked(lock)
        with pytest.raises(StackBusy), hold_lock(lock):
            pytest.fail("two held it")

    assert not is_locked(lock)
    with hold_lock(lock):
        assert is_locked(lock)


def test_a_lock_names_its_holder(tmp_path: Path) -> None:
    """The only way to end a supervisor whose other files are gone."""
    lock = tmp_path / "run" / "supervisor.lock"
    assert lock_holder(lock) is None

    with hold_lock(lock):
        assert lock_holder(lock) == identify(os.getpid())

    lock.write_text(f"{os.getpid()} somebody-before-us\n")
    assert lock_holder(lock) is None
    lock.write_text("garbage")
    assert lock_holder(lock) is None


def test_a_folder_that_cannot_be_created_is_reported_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(SetupFailure, match=r"cannot be made \(Not a directory\); .* STRIDER_HOME"):
        StackDirectory(tmp_path / "file" / ".strider").create()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory away")
def test_another_users_home_is_left_alone(tmp_path: Path) -> None:
    """Root writing into it would leave files that its owner cannot remove."""
    StackDirectory(tmp_path / ".strider").create()
    os.chown(tmp_path / ".strider", 12345, 12345)

    with pytest.raises(SetupFailure, match="belongs to user number 12345, and this is user number 0"):
        StackDirectory(tmp_path / ".strider").create()


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        pytest.param({"STRIDER_CACHE": "/c"}, Path("/c"), id="named"),
        pytest.param({"XDG_CACHE_HOME": "/x"}, Path("/x/strider"), id="desktop-rules"),
        pytest.param({}, Path.home() / ".cache" / "strider", id="usual"),
    ],
)
def test_downloads_are_shared_by_all_checkouts(environment: dict[str, str], expected: Path) -> None:
    assert cache_directory(environment) == expected
