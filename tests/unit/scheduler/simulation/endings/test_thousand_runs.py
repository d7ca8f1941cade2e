"""A thousand runs among kills, rebalances and repeats: none ends early, twice or never."""

from __future__ import annotations

import pytest

from tests.figures import record_figure

from .ending_world import end_among_kills

RUNS = 1_000
RUNS_OF_A_PART = 25


@pytest.mark.slow
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("first", range(0, RUNS, RUNS_OF_A_PART))
@pytest.mark.fault("F1", part="schedulers and link-ingestion while a thousand runs end, simulated")
def test_no_run_of_a_thousand_ends_early_twice_or_never(first: int) -> None:
    """Each seed of chance is a web, and its kills: a failure names the first seed of its part."""
    seeds = range(first, first + RUNS_OF_A_PART)
    ended = {seed: end_among_kills(seed) for seed in seeds}

    early = [seed for seed, run in ended.items() if run.requests_after_the_end or run.open_at_the_end]
    double = [seed for seed, run in ended.items() if run.ends > 1]
    missing = [seed for seed, run in ended.items() if not run.ends]
    kills = sum(run.kills for run in ended.values())
    record_figure(
        f"runs of seeds {first} to {seeds[-1]}: kills={kills} early={len(early)} double={len(double)} "
        f"missing={len(missing)}"
    )
    assert (early, double, missing) == ([], [], [])
