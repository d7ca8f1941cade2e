"""Checks products for missing and impossible values; their flaws are warnings of the page.

Nothing is rejected for a flaw: the page is content, and consumers can leave out doubtful products.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from decimal import Decimal
from enum import StrEnum
from math import isfinite
from typing import Final

from strider.contracts.generated.enums import Availability
from strider.contracts.generated.events import Product


class ProductFlaw(StrEnum):
    """A flaw of a product: a warning in its page's verdict."""

    WITHOUT_NAME = "product_without_name"
    WITHOUT_PRICE = "product_without_price"
    """It can be bought, but has neither a price nor a price range."""
    WITHOUT_CURRENCY = "product_without_currency"
    BAD_PRICE = "product_bad_price"
    """A price is not a decimal number such as 1234.56."""
    BAD_CURRENCY = "product_bad_currency"
    """The currency is not a code of three capital letters."""
    BAD_PRICE_RANGE = "product_bad_price_range"
    """The price range ends below its beginning."""
    BAD_OLD_PRICE = "product_bad_old_price"
    """The price before the reduction is not above the price."""
    BAD_RATING = "product_bad_rating"
    """The rating is not between 0 and 5."""
    BAD_REVIEW_COUNT = "product_bad_review_count"
    BAD_GTIN = "product_bad_gtin"
    """It has an invalid length, character or check digit."""


_PRICE: Final = re.compile(r"(?:0|[1-9][0-9]{0,11})(?:\.[0-9]{1,4})?")
_CURRENCY: Final = re.compile(r"[A-Z]{3}")
_UNKNOWN: Final = -1
_BEST_RATING: Final = 5.0
_GTIN_DIGITS: Final = frozenset({8, 12, 13, 14})
_ISBN_10: Final = re.compile(r"[0-9]{9}[0-9X]")

_FOR_SALE: Final = frozenset(
    {Availability.IN_STOCK, Availability.LIMITED, Availability.PREORDER, Availability.BACKORDER}
)
"""A product that can be bought has a price; one that is sold out or discontinued often has none."""


def _without_price(product: Product) -> bool:
    return product.availability in _FOR_SALE and not any(_prices(product))


def _without_currency(product: Product) -> bool:
    return any(_prices(product)) and not product.currency


def _bad_price(product: Product) -> bool:
    return any(price and not _PRICE.fullmatch(price) for price in (*_prices(product), product.old_price))


def _bad_currency(product: Product) -> bool:
    return bool(product.currency) and not _CURRENCY.fullmatch(product.currency)


def _bad_range(product: Product) -> bool:
    return _is_above(product.price_low, product.price_high)


def _bad_old_price(product: Product) -> bool:
    return product.price == product.old_price != "" or _is_above(product.price, product.old_price)


def _bad_rating(product: Product) -> bool:
    rating = product.rating
    return rating != _UNKNOWN and not (isfinite(rating) and 0.0 <= rating <= _BEST_RATING)


def _bad_gtin(product: Product) -> bool:
    code = product.gtin
    if not code or _ISBN_10.fullmatch(code):
        return False
    if not (code.isascii() and code.isdigit()) or len(code) not in _GTIN_DIGITS:
        return True
    # From the right, the digits weigh 1 and 3 in turn, and their sum is a multiple of ten.
    weighed = sum(int(digit) * (3 if place % 2 else 1) for place, digit in enumerate(reversed(code)))
    return weighed % 10 != 0


def _prices(product: Product) -> tuple[str, str, str]:
    return product.price, product.price_low, product.price_high


def _is_above(price: str, other: str) -> bool:
    """Whether a price is above another; false if one of them is not a price."""
    if not (_PRICE.fullmatch(price) and _PRICE.fullmatch(other)):
        return False
    return Decimal(price) > Decimal(other)


_RULES: Final[dict[str, Callable[[Product], bool]]] = {
    ProductFlaw.WITHOUT_NAME: lambda product: not product.name.strip(),
    ProductFlaw.WITHOUT_PRICE: _without_price,
    ProductFlaw.WITHOUT_CURRENCY: _without_currency,
    ProductFlaw.BAD_PRICE: _bad_price,
    ProductFlaw.BAD_CURRENCY: _bad_currency,
    ProductFlaw.BAD_PRICE_RANGE: _bad_range,
    ProductFlaw.BAD_OLD_PRICE: _bad_old_price,
    ProductFlaw.BAD_RATING: _bad_rating,
    ProductFlaw.BAD_REVIEW_COUNT: lambda product: product.review_count < _UNKNOWN,
    ProductFlaw.BAD_GTIN: _bad_gtin,
}


def product_flaws(products: Iterable[Product]) -> tuple[str, ...]:
    """Return the flaws of any of these products, each once, in the order of the rules."""
    every = tuple(products)
    return tuple(flaw for flaw, is_flawed in _RULES.items() if any(map(is_flawed, every)))
