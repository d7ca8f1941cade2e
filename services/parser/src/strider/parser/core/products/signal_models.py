"""Visible signals of a product page.

The interface between the HTML reader and the product extraction. Signals are in document order, with the
names that the page gives its elements; nothing is decided here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

HEADING: Final = 0
AMOUNT: Final = 1
BUTTON: Final = 2
FACT: Final = 3
"""Text of an element named after identifiers, stock, brands or ratings."""
ITEMPROP: Final = 4
"""An itemprop; `names` is the name of the property."""
IDENTIFIER: Final = 5
"""Text of an element or form field that is named as a product identifier, other than SKU."""
BARE_AMOUNT: Final = 6
"""An amount next to a currency in an unnamed element; `text` starts with its label, if it has one."""
DISCOUNT: Final = 7
"""A discount in percent."""
BRAND: Final = 8
"""A link to the products of a brand, or its logo."""
RATING: Final = 9
"""A rating in data or as a share of stars; `names` is the best possible rating."""


class ProductSignal(NamedTuple):
    """One signal of a product page."""

    kind: int
    text: str
    names: str = ""
    """Names of the element (class, id and the like) in lower case; of an amount, all within its price."""
    is_struck: bool = False
    is_disabled: bool = False
    """Whether a button is disabled."""
    is_peripheral: bool = False
    """Whether it is part of a list, a menu or a recommendation, rather than the main product."""


class VisibleImage(NamedTuple):
    """One visible image."""

    url: str
    alt: str
    names: str
    width: int
    height: int
    is_peripheral: bool


@dataclass(frozen=True, slots=True)
class ProductSignals:
    """All product signals of a page."""

    signals: Sequence[ProductSignal] = ()
    crumbs: Sequence[str] = ()
    """Breadcrumbs, from broad to narrow."""
    images: Sequence[VisibleImage] = ()
    page_names: str = ""
    """Class names of the whole page."""
    description: str = ""
    """Text of the element that is named as the description."""
    card_count: int = 0
    """Number of similar boxes that have a price and a link, as in a list."""


NO_PRODUCT_SIGNALS: Final = ProductSignals()
