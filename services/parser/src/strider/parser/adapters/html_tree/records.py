"""What records are made of, in a tree: fields of the reading that only their level asks for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from selectolax.lexbor import LexborNode

from .microdata import read_microdata
from .products.signals import read_product_signals
from .rdfa import read_rdfa

MAX_SCRIPTS: Final = 300
MAX_PRODUCT_SCRIPT_CHARS: Final = 1024 * 1024

_STATE_ATTRIBUTES: Final = (
    "data-product",
    "data-product_variations",
    "data-product-json",
    "data-item",
    "data-props",
    "data-page",
    "data-state",
)
_STATES: Final = ",".join(f"[{name}]" for name in _STATE_ATTRIBUTES)
_SCRIPT_SELECTOR: Final = 'script:not([src]):not([type="application/ld+json"])'


def read_record_fields(root: LexborNode, body: LexborNode) -> dict[str, Any]:
    """Read all of it."""
    return {
        "microdata": read_microdata(root),
        "rdfa": read_rdfa(root),
        "product_signals": read_product_signals(root, body),
        "price_scripts": tuple(_product_scripts(root)),
    }


def _product_scripts(root: LexborNode) -> Iterator[str]:
    for node in root.css(_SCRIPT_SELECTOR)[:MAX_SCRIPTS]:
        text = node.text()
        if len(text) <= MAX_PRODUCT_SCRIPT_CHARS and ("price" in text or "Price" in text):
            yield text
    for node in root.css(_STATES)[:MAX_SCRIPTS]:
        for name, value in node.attributes.items():
            is_data = name in _STATE_ATTRIBUTES and value and value.lstrip()[:1] in {"{", "["}
            if value and is_data and len(value) <= MAX_PRODUCT_SCRIPT_CHARS and "rice" in value:
                yield value
