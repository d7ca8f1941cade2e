"""Which services there are: whatever is installed and says so under `strider.services`.

The example pair says so under `strider.examples` and runs only when it is asked for.
"""

from __future__ import annotations

import importlib.metadata
from dataclasses import dataclass
from typing import Final

SERVICES: Final = "strider.services"
EXAMPLES: Final = "strider.examples"


@dataclass(frozen=True, slots=True)
class ServiceKind:
    """A service that can be run here."""

    name: str
    module: str
    """What `python -m` is given."""
    example: bool = False


def find_services() -> tuple[ServiceKind, ...]:
    """Every installed service, in the order of their names."""
    found: dict[str, ServiceKind] = {}
    for group in (EXAMPLES, SERVICES):
        for point in importlib.metadata.entry_points(group=group):
            module = point.module.removesuffix(".__main__")
            found[point.name] = ServiceKind(point.name, module, example=group == EXAMPLES)
    return tuple(sorted(found.values(), key=lambda kind: kind.name))
