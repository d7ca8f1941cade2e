"""Clocks and chance: the system's, and the one that a seed repeats."""

from __future__ import annotations

from datetime import UTC

from strider.runtime.clocks import SeededRandomness, SystemClock, SystemRandomness


async def test_the_system_clock_counts_up_and_knows_its_zone() -> None:
    clock = SystemClock()
    before = clock.monotonic()

    await clock.sleep(0)

    assert clock.monotonic() >= before
    assert clock.now().tzinfo is UTC


def test_a_seed_repeats_its_chances() -> None:
    draws = [[SeededRandomness(seed).uniform(0, 1) for _ in range(1)] for seed in (1, 1, 2)]

    assert draws[0] == draws[1] != draws[2]


def test_chance_stays_between_its_bounds() -> None:
    chance = SystemRandomness()

    assert all(2 <= chance.uniform(2, 3) <= 3 for _ in range(100))
