"""How soon a client of the broker may request the metadata of the cluster again."""

from __future__ import annotations

import pytest

from strider.messaging.kafka.patches.metadata_pace import BURST, BURST_SECONDS, MetadataPace


class Watch:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_few_requests_in_a_row_have_no_pause_and_all_others_share_the_time() -> None:
    watch = Watch()
    pace = MetadataPace(monotonic=watch)
    began, requested_at = watch.now, []
    for _ in range(100):
        watch.now += pace.next_pause_seconds()
        requested_at.append(watch.now)

    assert requested_at[:BURST] == [began] * BURST
    assert watch.now - began == pytest.approx((100 / BURST - 1) * BURST_SECONDS)
    assert all(
        later - earlier >= BURST_SECONDS - 1e-9
        for earlier, later in zip(requested_at, requested_at[BURST:], strict=False)
    )


def test_requests_now_and_then_are_never_delayed() -> None:
    watch = Watch()
    pace = MetadataPace(monotonic=watch)
    for _ in range(50):
        watch.now += BURST_SECONDS / BURST
        assert pace.next_pause_seconds() == pytest.approx(0, abs=1e-9)
