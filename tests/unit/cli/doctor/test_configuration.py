"""Problems of an environment, with what to do, and without passwords."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from strider.cli.doctor.checks import CheckFinding, run_checks
from strider.cli.doctor.configuration import configuration_checks
from strider.localstack.directories import StackDirectory
from strider.localstack.plan.stack_keys import HEADERS_KEY, JWT_SECRET
from strider.localstack.plan.stack_keys import OWNER_KEY as STACK_OWNER_KEY
from strider.testing.owner import OWNER_KEY

NOWHERE: Mapping[str, str] = {
    "XDG_CONFIG_HOME": "/nonexistent",
    "STRIDER_CONTACT": "https://example.org/bot",
}


def findings(directory: Path, **environment: str) -> list[CheckFinding]:
    checks = configuration_checks({**NOWHERE, **environment}, directory)
    return list(run_checks(checks, deadline_seconds=60).findings)


def test_an_empty_environment_has_no_problem(tmp_path: Path) -> None:
    assert [(each.name, each.status, each.remedy) for each in findings(tmp_path)] == [
        ("settings", "ok", ""),
        ("names", "ok", ""),
        ("contact", "ok", ""),
        ("profiles", "ok", ""),
        ("owner-key", "warning", "set it here, for link-ingestion and for the API, or run: strider up"),
        (
            "headers-key",
            "warning",
            "set it here, for link-ingestion, the fetcher and the API, or run: strider up",
        ),
        ("jwt-secret", "warning", "set it here and for the API, or run: strider up"),
    ]


def key_findings(directory: Path, name: str = "owner-key", **environment: str) -> list[tuple[str, str]]:
    """Return status and detail of the check of a key."""
    return [(each.status, each.detail) for each in findings(directory, **environment) if each.name == name]


def test_the_owner_key_is_found_in_the_environment_or_the_local_stack(tmp_path: Path) -> None:
    """Without one, what a sender may do is said; the key itself is never printed."""
    ((status, detail),) = key_findings(tmp_path)
    assert (status, "names that begin with raw." in detail) == ("warning", True)

    own = key_findings(tmp_path, STRIDER_OWNER_KEY=OWNER_KEY)
    assert own == [("ok", "seeds are signed with STRIDER_OWNER_KEY")]
    home = StackDirectory(tmp_path / "home")
    key = STACK_OWNER_KEY.provide(home, {})
    assert key_findings(tmp_path, STRIDER_HOME=str(home.root)) == [
        ("ok", "seeds are signed with the key of the local stack")
    ]
    ((status, detail),) = key_findings(tmp_path, STRIDER_HOME=str(home.root), STRIDER_OWNER_KEY=OWNER_KEY)
    assert (status, "differs" in detail, key in detail) == ("warning", True, False)


def test_the_key_of_personal_headers_is_found_in_the_environment_or_the_local_stack(tmp_path: Path) -> None:
    """The stack keeps keys that were in use: each of them fits, and another one does not."""
    name, key, newer = "headers-key", "1" * 32, "2" * 32
    assert [status for status, _ in key_findings(tmp_path, name)] == ["warning"]
    assert key_findings(tmp_path, name, STRIDER_HEADERS_KEY=key) == [
        ("ok", "personal headers are encrypted with STRIDER_HEADERS_KEY")
    ]

    home = StackDirectory(tmp_path / "home")
    HEADERS_KEY.provide(home, {"STRIDER_HEADERS_KEY": key})
    HEADERS_KEY.provide(home, {"STRIDER_HEADERS_KEY": newer})
    stack = {"STRIDER_HOME": str(home.root)}
    assert key_findings(tmp_path, name, **stack) == [
        ("ok", "personal headers are encrypted with the key of the local stack")
    ]
    kept = [key_findings(tmp_path, name, STRIDER_HEADERS_KEY=own, **stack) for own in (key, newer)]
    assert [status for ((status, _),) in kept] == ["ok", "ok"]
    other = "3" * 32
    ((status, detail),) = key_findings(tmp_path, name, STRIDER_HEADERS_KEY=f"{key},{other}", **stack)
    assert (status, "differs from the keys" in detail) == ("warning", True)
    assert not any(secret in detail for secret in (key, newer, other))


def test_the_secret_of_tokens_is_found_in_the_environment_or_the_local_stack(tmp_path: Path) -> None:
    """With another one here, a token of `strider token` would be refused by the API of the stack."""
    name, secret, older = "jwt-secret", "1" * 32, "2" * 32
    assert [status for status, _ in key_findings(tmp_path, name)] == ["warning"]
    assert key_findings(tmp_path, name, AUTH_JWT_SECRET=secret) == [
        ("ok", "tokens of the API are signed with AUTH_JWT_SECRET")
    ]

    home = StackDirectory(tmp_path / "home")
    JWT_SECRET.provide(home, {"AUTH_JWT_SECRET": f"{secret},{older}"})
    stack = {"STRIDER_HOME": str(home.root)}
    assert [status for status, _ in key_findings(tmp_path, name, **stack)] == ["ok"]
    assert [status for status, _ in key_findings(tmp_path, name, AUTH_JWT_SECRET=older, **stack)] == ["ok"]
    ((status, detail),) = key_findings(tmp_path, name, AUTH_JWT_SECRET="3" * 32, **stack)
    assert (status, "its API refuses tokens" in detail) == ("warning", True)
    assert not any(each in detail for each in (secret, older, "3" * 32))


def test_a_key_of_personal_headers_that_is_too_short_is_a_fault_of_the_settings(tmp_path: Path) -> None:
    found = findings(tmp_path, STRIDER_HEADERS_KEY="secret-but-short")

    ((name, detail),) = [(each.name, each.detail) for each in found if each.status == "fault"]
    assert (name, detail.partition(":")[0]) == ("settings", "STRIDER_HEADERS_KEY")
    assert "secret-but-short" not in detail
    assert key_findings(tmp_path, "headers-key", STRIDER_HEADERS_KEY="secret-but-short") == [
        ("warning", "not checked: the settings above are invalid")
    ]


@pytest.mark.parametrize(
    ("name", "status", "meant"),
    [
        pytest.param("STRIDER_HOST_DELY", "fault", "STRIDER_HOST_DELAY", id="ours"),
        pytest.param("CRAWLER_RESPECT_ROBOT_TXT", "warning", "CRAWLER_RESPECT_ROBOTS_TXT", id="crawl"),
        pytest.param("KAFKA_BOOTSTRAP_SERVER", "warning", "KAFKA_BOOTSTRAP_SERVERS", id="a shared prefix"),
    ],
)
def test_a_misspelt_name_is_found_with_the_one_that_was_meant(
    tmp_path: Path, name: str, status: str, meant: str
) -> None:
    found = [each for each in findings(tmp_path, **{name: "1"}) if each.name == "names"]

    assert [(each.status, meant in each.remedy, name in each.detail) for each in found] == [
        (status, True, True)
    ]


def test_a_missing_contact_is_reported_with_its_consequence(tmp_path: Path) -> None:
    found = [each for each in findings(tmp_path, STRIDER_CONTACT="") if each.name == "contact"]

    assert [(each.status, each.detail) for each in found] == [
        ("warning", "STRIDER_CONTACT is not set: only loopback addresses are crawled")
    ]
    assert found[0].remedy == "set STRIDER_CONTACT to a URL or mail address for site owners"


@pytest.mark.parametrize("name", ["KAFKA_HOME", "POSTGRES_DB", "REDIS_VERSION", "HOME"])
def test_variables_of_other_programs_are_no_problem(tmp_path: Path, name: str) -> None:
    keys = dict.fromkeys(("STRIDER_OWNER_KEY", "STRIDER_HEADERS_KEY", "AUTH_JWT_SECRET"), OWNER_KEY)
    found = findings(tmp_path, **keys, **{name: "1"})

    assert {each.status for each in found} == {"ok"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        pytest.param("STRIDER_SHARDS", "many", id="a number"),
        pytest.param("REDIS_URL", "localhost", id="an address"),
        pytest.param("STRIDER_ALLOW_PRIVATE", "perhaps", id="yes or no"),
        pytest.param("FETCHER_CONNECT_TIMEOUT", "never", id="of one service"),
    ],
)
def test_a_value_that_does_not_parse_is_one_fault(tmp_path: Path, name: str, value: str) -> None:
    found = [each for each in findings(tmp_path, **{name: value}) if each.status == "fault"]

    assert [(each.name, each.detail.partition(":")[0]) for each in found] == [("settings", name)]


def test_settings_are_listed_without_their_passwords(tmp_path: Path) -> None:
    listed = findings(
        tmp_path,
        STRIDER_SHARDS="24",
        POSTGRES_DSN="postgresql://me:my-word@db.test/strider",
        REDIS_URL="redis://:my-word@redis.test:6379/0",
        KAFKA_SASL_PASSWORD="my-word",
    )

    details = [each.detail for each in listed if each.name == "settings"]
    assert "STRIDER_SHARDS=24" in details
    assert "POSTGRES_DSN=postgresql://me:**********@db.test/strider" in details
    assert "KAFKA_SASL_PASSWORD=**********" in details
    assert "my-word" not in repr(listed)


def test_profiles_that_others_can_read_are_a_warning(tmp_path: Path) -> None:
    file = tmp_path / ".strider" / "profiles.toml"
    file.parent.mkdir()
    file.write_text('[prod]\nPOSTGRES_DSN = "postgresql://me:x@db/y"\n')
    file.chmod(0o644)

    [open_file] = [each for each in findings(tmp_path) if each.name == "profiles"]
    file.chmod(0o600)
    [closed_file] = [each for each in findings(tmp_path) if each.name == "profiles"]

    assert (open_file.status, open_file.remedy) == ("warning", f"chmod 600 {file}")
    assert (closed_file.status, closed_file.detail) == ("ok", f"{file}: prod")


def test_profiles_that_cannot_be_read_are_a_fault(tmp_path: Path) -> None:
    (tmp_path / ".strider").mkdir()
    (tmp_path / ".strider" / "profiles.toml").write_text("[x")

    [found] = [each for each in findings(tmp_path) if each.name == "profiles"]

    assert (found.status, "invalid TOML" in found.detail) == ("fault", True)
