from __future__ import annotations

import os
from pathlib import Path

import pytest

from strider.localstack.process.os_user import can_access, choose_os_user, give_directory
from strider.localstack.servers.postgres import PostgresServer

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives processes to other accounts")


@as_root
def test_root_gives_the_database_to_an_unprivileged_account() -> None:
    account = choose_os_user()

    assert account is not None
    assert account.uid != 0
    assert account.subprocess_options() == {"user": account.uid, "group": account.gid, "extra_groups": ()}


@pytest.mark.skipif(os.geteuid() == 0, reason="root is the other case")
def test_an_ordinary_user_keeps_it() -> None:
    assert choose_os_user() is None


@as_root
def test_a_place_below_a_closed_directory_is_out_of_reach(tmp_path: Path) -> None:
    """Root's own home is such a one, and the most common place of a checkout in a container."""
    account = choose_os_user()
    assert account is not None
    (tmp_path / "closed").mkdir(mode=0o700)
    give_directory(tmp_path / "closed" / "data", account)

    assert not can_access(account, tmp_path / "closed" / "data", writing=True)
    assert can_access(account, Path("/tmp"), writing=True)


def test_a_lock_of_a_killed_database_is_cleared_although_its_number_lives_again(tmp_path: Path) -> None:
    """PostgreSQL takes any process with the old number for its predecessor and refuses to start."""
    part = PostgresServer(tmp_path, port=1, programs=tmp_path)
    part.cluster.mkdir()
    (part.cluster / "PG_VERSION").write_text("18\n")
    lock = part.cluster / "postmaster.pid"
    lock.write_text(f"{os.getpid()}\n{part.cluster}\n1000000000\n")

    part.prepare()

    assert not lock.exists()
