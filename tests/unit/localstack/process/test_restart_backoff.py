from __future__ import annotations

from strider.localstack.process.monitor import RestartBackoff


def test_pauses_double_up_to_half_a_minute() -> None:
    """A process that cannot run must not eat the machine, and must be back soon when it can."""
    falls, pauses = RestartBackoff(), []
    for _ in range(9):
        falls = falls.after_exit(ran_seconds=0.1)
        pauses.append(falls.pause_seconds)

    assert pauses == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0]


def test_several_falls_in_a_row_are_called_failing() -> None:
    falls, told = RestartBackoff(), []
    for _ in range(5):
        falls = falls.after_exit(ran_seconds=1.0)
        told.append(falls.is_failing)

    assert told == [False, False, False, True, True]


def test_a_steady_run_is_forgiven_everything_before_it() -> None:
    """A process that is killed once a day is not failing."""
    falls = RestartBackoff(7).after_exit(ran_seconds=30.0)

    assert falls == RestartBackoff(1)
    assert not falls.is_failing


def test_the_pause_of_a_process_that_fails_for_days_stays_at_its_cap() -> None:
    """The exponent of the pause overflows a float after 1,024 exits: about eight hours of failing."""
    assert RestartBackoff(5_000).pause_seconds == 30.0
