"""Assignment of partitions or shards to members: sticky, balanced to one, deterministic.

Knows neither topics nor time. A unit is what the group assigns: a partition, or a shard number.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TypeVar

U = TypeVar("U", bound=Hashable)


def assign_evenly(
    units: Sequence[U],
    *,
    members: Sequence[str],
    previous: Mapping[U, str],
    can_own: Callable[[str, U], bool] = lambda _member, _unit: True,
) -> dict[str, list[U]]:
    """Assign every unit to one member; previous owners keep theirs while the shares stay even."""
    shares: dict[str, list[U]] = {member: [] for member in sorted(members)}
    if not shares:
        return shares
    loose = _keep_previous_owners(units, shares=shares, previous=previous, can_own=can_own)
    for unit in loose:
        takers = [member for member in shares if can_own(member, unit)]
        if takers:
            shares[min(takers, key=lambda member: len(shares[member]))].append(unit)
    return shares


def _keep_previous_owners(
    units: Sequence[U],
    *,
    shares: dict[str, list[U]],
    previous: Mapping[U, str],
    can_own: Callable[[str, U], bool],
) -> list[U]:
    """Leave with its owner what fits an even share; return the rest."""
    base, larger_shares = divmod(len(units), len(shares))
    loose = []
    for unit in units:
        owner = previous.get(unit)
        share = shares.get(owner) if owner is not None else None
        if owner is None or share is None or not can_own(owner, unit):
            loose.append(unit)
        elif len(share) < base:
            share.append(unit)
        elif len(share) == base and larger_shares:
            larger_shares -= 1
            share.append(unit)
        else:
            loose.append(unit)
    return loose
