"""The object store that the environment names is looked at before anything starts."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from strider.localstack.errors import SetupFailure
from strider.localstack.plan.endpoints import check_reachable
from strider.runtime.settings.loader import SettingsError


def check(url: str) -> None:
    check_reachable({"objects": url}, {})


def test_a_folder_is_made_where_there_is_none(tmp_path: Path) -> None:
    check(f"file://{tmp_path}/new%20one")

    assert (tmp_path / "new one").is_dir()


def test_remote_stores_are_checked_by_the_services() -> None:
    """Credentials and networks are theirs; only the form of the address is looked at."""
    check("s3://bucket/prefix")


@pytest.mark.parametrize(
    "url",
    [
        pytest.param("nonsense", id="no-address"),
        pytest.param("ftp://host/path", id="unknown-kind"),
        pytest.param("s3:///prefix", id="no-bucket"),
        pytest.param("file://elsewhere/path", id="another-machines-folder"),
        pytest.param("http://[", id="torn"),
    ],
)
def test_what_is_no_address_of_a_store_is_a_wrong_setting(url: str) -> None:
    with pytest.raises(SettingsError) as told:
        check(url)

    (problem,) = told.value.problems
    assert problem.startswith("OBJECT_STORE_URL")
    assert "\n" not in problem


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(SetupFailure) as told:
        check(f"file://{tmp_path}/file/folder")

    assert told.value.missing == (
        f"OBJECT_STORE_URL names a folder that cannot be used ({tmp_path}/file/folder: Not a directory)"
    )


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_of_another_user_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)

    with pytest.raises(SetupFailure, match="no permission to write there"):
        check(tmp_path.as_uri())
