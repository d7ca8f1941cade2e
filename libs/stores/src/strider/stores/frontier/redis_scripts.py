"""The frontier's scripts: each is put together from the parts that it shares with others.

Knows which parts a script needs and whether it may run on a full server; not what it does.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Final

from strider.stores.scripts import Script, load_script, parse_script

from .packing import FIELDS

_ALL: Final = ("shard", "groups", "entries", "leases", "buckets", "seen", "parked")

PARTS: Final[Mapping[str, tuple[str, ...]]] = {
    "take": ("shard",),
    "begin": ("shard", "groups", "buckets", "seen", "parked"),
    "ready": ("shard",),
    "tell": ("shard",),
    "void": ("shard",),
    "recover": ("shard", "groups", "leases"),
    "remember": ("shard", "buckets", "seen"),
    "shift": ("shard", "groups", "leases"),
    "name": ("shard",),
    "accept": ("shard", "groups", "entries", "buckets", "seen", "parked"),
    "refill": ("shard", "groups", "entries", "buckets", "parked"),
    "parked": ("shard", "buckets", "parked"),
    "prune": ("shard", "groups"),
    "look": ("shard", "groups", "entries", "buckets", "seen", "parked"),
    "release": ("shard", "groups", "entries", "leases"),
    "swap": ("shard", "groups", "entries", "leases"),
    "free": ("shard", "groups", "entries", "leases"),
    "conclude": _ALL,
    "groups": ("shard", "groups"),
    "count": ("shard", "groups", "buckets", "seen", "parked"),
    "scan": ("shard",),
    "glance": ("shard", "groups"),
    "mark": ("shard", "groups", "leases"),
    "seen": ("shard", "buckets", "seen"),
}

_GROWING: Final = ("accept", "name", "refill", "remember")
"""Refused by a full server; all others give room back, or cost next to none, and must go on."""


@cache
def frontier_script(name: str) -> Script:
    """Put a script together."""
    own = load_script(f"frontier_{name}")
    parts = [_text(f"frontier_part_{part}") for part in PARTS[name]]
    flags = "" if name in _GROWING else " flags=allow-oom"
    head = f"#!lua{flags}\nlocal FIELDS = '{FIELDS}'\n"
    return parse_script(own.name, head + "\n".join((*parts, own.text)))


def _text(name: str) -> str:
    return files("strider.stores.lua").joinpath(f"{name}.lua").read_text(encoding="utf-8")
