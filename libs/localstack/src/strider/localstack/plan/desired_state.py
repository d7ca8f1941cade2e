"""The desired state of the stack: written by `strider up`, applied by the supervisor."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Final

from strider.localstack.stack_state import read_json, write_json

SERVERS: Final = ("kafka", "postgres", "redis")
MAX_COPIES: Final = 64


class InvalidDesiredState(ValueError):  # named as in strider.runtime
    """The command line names an unknown server or service, or an invalid number."""


@dataclass(frozen=True, slots=True)
class DesiredState:
    """Desired servers and services, and the number of copies of each."""

    number: int = 0
    """Grows with every change, so that states of the supervisor can be matched to it."""
    only: tuple[str, ...] | None = None
    """Names of servers and services; None means all."""
    examples: bool = False
    scale: Mapping[str, int] = field(default_factory=dict)

    def wants_server(self, name: str) -> bool:
        """Whether this server belongs to the stack."""
        return self.only is None or name in self.only

    def copies(self, service: str, *, example: bool) -> int:
        """Return how many copies of a service are desired."""
        if service in self.scale:
            return self.scale[service]
        if self.only is not None:
            return int(service in self.only)
        return int(not example or self.examples)


def merge(
    old: DesiredState, *, only: tuple[str, ...] | None, examples: bool, scale: Mapping[str, int]
) -> DesiredState:
    """Return the desired state after one more `up`: it adds to what runs; only a scale removes."""
    wider = None if only is None or old.only is None else tuple(sorted({*old.only, *only}))
    merged = replace(old, only=wider, examples=old.examples or examples, scale={**old.scale, **scale})
    return merged if merged == old else replace(merged, number=old.number + 1)


def parse_only(text: str, known: Collection[str]) -> tuple[str, ...]:
    """Return the names in `kafka,postgres`, each of which must exist."""
    names = tuple(sorted({name.strip() for name in text.split(",") if name.strip()}))
    _require_known(names, known)
    return names


def parse_scale(options: Sequence[str], services: Collection[str]) -> dict[str, int]:
    """Return the number of copies for each service in `fetcher=2`."""
    scale = {}
    for word in options:
        name, _, count = word.partition("=")
        _require_known((name,), services)
        if not count.isdecimal() or int(count) > MAX_COPIES:
            raise InvalidDesiredState(f"--scale {word}: say NAME=N with N from 0 to {MAX_COPIES}")
        scale[name] = int(count)
    return scale


def _require_known(names: Sequence[str], known: Collection[str]) -> None:
    for name in names:
        if name not in known:
            raise InvalidDesiredState(f"unknown name {name}; known are: {', '.join(sorted(known)) or 'none'}")


def write_desired_state(path: Path, desired: DesiredState) -> None:
    """Write the file for the supervisor."""
    write_json(path, asdict(desired))


def read_desired_state(path: Path) -> DesiredState | None:
    """Return the state that was written last; None where there is no valid one."""
    fields = read_json(path)
    if fields is None:
        return None
    try:
        only = fields.pop("only")
        return DesiredState(**fields, only=None if only is None else tuple(only))
    except (TypeError, KeyError):
        return None
