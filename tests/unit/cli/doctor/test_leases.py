"""Leases of the schedulers, compared with what the fetchers read ahead."""

from __future__ import annotations

import pytest

from strider.cli.doctor.leases import leases_finding


@pytest.mark.parametrize(
    ("environment", "fetchers", "status"),
    [
        pytest.param({}, 1, "ok", id="defaults"),
        pytest.param({"STRIDER_SHARDS": "24"}, 1, "warning", id="more-shards"),
        pytest.param({"STRIDER_SHARDS": "24"}, 2, "ok", id="more-shards-and-fetchers"),
        pytest.param({"SCHEDULER_IN_FLIGHT_PER_SHARD": "1000"}, 1, "warning", id="more-leases"),
        pytest.param({"STRIDER_SHARDS": "240"}, 0, "ok", id="no-fetcher-runs"),
    ],
)
def test_fetchers_must_read_ahead_what_may_be_leased(
    environment: dict[str, str], fetchers: int, status: str
) -> None:
    finding = leases_finding(environment, fetchers=fetchers)

    assert (finding.name, finding.status) == ("leases", status)
    assert bool(finding.remedy) == (status == "warning")


def test_invalid_settings_of_a_service_are_reported_and_no_crash() -> None:
    finding = leases_finding({"SCHEDULER_IN_FLIGHT_PER_SHARD": "many"}, fetchers=1)

    assert (finding.status, finding.detail) == ("warning", "not checked: the settings above are invalid")


def test_the_remedy_names_how_many_fetchers_suffice() -> None:
    finding = leases_finding({"STRIDER_SHARDS": "48"}, fetchers=1)

    assert finding.detail.startswith("up to 30000 leases for 1 fetcher, 13107 each: ")
    assert finding.remedy == "run 3 fetchers, or lower SCHEDULER_IN_FLIGHT_PER_SHARD"
    assert leases_finding({"STRIDER_SHARDS": "48"}, fetchers=3).status == "ok"
