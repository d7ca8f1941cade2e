"""Generated blocks of docs/jobs.md: the states, and curves of intervals."""

from __future__ import annotations

from .adaptive import adaptive_interval_seconds
from .intervals import retry_wait_seconds
from .states import TRANSITIONS, allowed_actions

_HOUR_MINUTES = 60


def state_diagram() -> str:
    """Return the transitions as a Mermaid diagram."""
    lines = ["```mermaid", "stateDiagram-v2", "    [*] --> pending"]
    for state, targets in TRANSITIONS.items():
        lines += [f"    {state} --> {target}: {reason}" for target, reason in targets.items()]
    lines += [f"    {state} --> [*]" for state, targets in TRANSITIONS.items() if not targets]
    return "\n".join([*lines, "```"])


def state_table() -> str:
    """Return each state with what may follow it."""
    lines = ["| state | may become | actions |", "|---|---|---|"]
    for state, targets in TRANSITIONS.items():
        following = ", ".join(f"{target} ({reason})" for target, reason in targets.items())
        actions = ", ".join(allowed_actions(state)).replace("_", "-")
        lines.append(f"| {state} | {following or 'nothing: it is final'} | {actions or 'none'} |")
    return "\n".join(lines)


def curve_table() -> str:
    """Return the adaptive intervals and the waits before retries, computed by their functions."""
    numbers = range(7)
    curve = [adaptive_interval_seconds(1800, number) // 60 for number in numbers]
    shown = [
        f"{minutes} min" if minutes < _HOUR_MINUTES else f"{minutes // _HOUR_MINUTES} h" for minutes in curve
    ]
    waits = [f"{retry_wait_seconds(60, number + 1)} s" for number in numbers]
    return "\n".join(
        [
            "| n | " + " | ".join(str(number) for number in numbers) + " |",
            "|---|" + "---|" * len(numbers),
            "| interval after n unchanged runs, of 30 min | " + " | ".join(shown) + " |",
            "| wait before retry n + 1, of 60 s | " + " | ".join(waits) + " |",
        ]
    )
