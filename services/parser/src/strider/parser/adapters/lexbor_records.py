"""What records are made of, in a tree: fields of the reading that only their level asks for."""

from __future__ import annotations

from typing import Any

from selectolax.lexbor import LexborNode

from .lexbor_microdata import read_microdata
from .lexbor_rdfa import read_rdfa
from .lexbor_shop import read_shop


def read_records(root: LexborNode, body: LexborNode) -> dict[str, Any]:
    """Read all of it."""
    return {"microdata": read_microdata(root), "rdfa": read_rdfa(root), "shop": read_shop(body)}
