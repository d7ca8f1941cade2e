"""Figures of a test, printed in one line, so that a run's log is its evidence (`pytest -s`, or `-rP`)."""

from __future__ import annotations


def report_figures(name: str, **numbers: float | str) -> None:
    """Print the figures of one promise: `FIGURE name: a=1 b=2`."""
    shown = " ".join(
        f"{key.replace('_', '-')}={value:g}" if isinstance(value, int | float) else f"{key}={value}"
        for key, value in numbers.items()
    )
    print(f"\nFIGURE {name}: {shown}")  # noqa: T201  # the figure is the evidence
