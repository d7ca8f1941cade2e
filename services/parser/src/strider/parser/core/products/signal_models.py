"""What of a page looks like a shop: the shape between whoever walks the tree and who decides.

Everything stands in the order of the page, with the names that its makers gave it; nothing is decided here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

HEADING: Final = 0
AMOUNT: Final = 1
BUTTON: Final = 2
FACT: Final = 3
"""What an element says whose name speaks of numbers, stock, brands or ratings."""
ITEMPROP: Final = 4
"""An itemprop; `words` is its name."""
IDENTIFIER: Final = 5
"""What an element or a field of a form says that is called the number of a thing, in other words than SKU."""
BARE_AMOUNT: Final = 6
"""An amount beside its currency that no name announces; `text` begins with its label, where it has one."""
DISCOUNT: Final = 7
"""How much is taken off, as a share."""
BRAND: Final = 8
"""What leads to everything of one brand, or shows its mark."""
RATING: Final = 9
"""A rating in data or as a share of its stars; `words` says of how many."""


class Sign(NamedTuple):
    """One thing that a shop's page has."""

    kind: int
    text: str
    words: str = ""
    """Names of the element (class, id and their like), in lower case; of an amount all within its price."""
    is_struck: bool = False
    is_disabled: bool = False
    """A button that cannot be pressed."""
    is_beside: bool = False
    """Part of a list, a menu, a recommendation: not what the page is about."""


class VisibleImage(NamedTuple):
    """One picture."""

    url: str
    alt: str
    names: str
    width: int
    height: int
    is_beside: bool


@dataclass(frozen=True, slots=True)
class Shop:
    """All signs of one page."""

    signs: Sequence[Sign] = ()
    crumbs: Sequence[str] = ()
    """Where the page stands in the shop, broad to narrow."""
    pictures: Sequence[VisibleImage] = ()
    page_names: str = ""
    """Names of the whole page."""
    description: str = ""
    """What the page says of its thing in an element called so."""
    boxes: int = 0
    """How many boxes of one make have a price and lead on: those of a list."""


NO_PRODUCT_SIGNALS: Final = Shop()
