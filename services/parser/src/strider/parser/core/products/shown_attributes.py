"""Read attributes of the visible product: availability, brand, identifiers, rating.

Takes the signals of a page, those after the heading first, and its text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice, pairwise
from typing import Any, Final

from strider.contracts.generated.enums import Availability

from .commerce_vocabulary import (
    BRAND_LABEL,
    CODE_LABEL,
    GTIN_LABEL,
    MODEL_LABEL,
    MPN_LABEL,
    find_labelled_value,
    parse_availability,
    parse_code,
    parse_gtin,
    parse_identifier,
    parse_rating,
    parse_review_count,
)
from .signal_models import BRAND, BUTTON, FACT, HEADING, IDENTIFIER, ITEMPROP, RATING, ProductSignal

MAX_BRAND_CHARS: Final = 40
NEAR_SIGNALS: Final = 14
"""Signals after the heading within which a brand belongs to the product."""
MAX_LINES: Final = 400
MAX_STATE_LINES: Final = 60
"""Lines after the heading that may state its availability; later ones are about other products."""
MAX_LINE_CHARS: Final = 40
BEST_RATING: Final = 5.0

STOCK_NAMES: Final = re.compile(r"stock|availab|inventory|delivery-information")
_RATING_NAMES: Final = re.compile(r"rating|review|stars")


def visible_availability(signals: Sequence[ProductSignal], lines: Sequence[str], *, has_button: bool) -> str:
    """Return the stated availability: by stock elements, itemprops, buttons or a line of its own."""
    for signal in signals:
        is_stock = signal.kind == FACT and STOCK_NAMES.search(signal.names)
        is_itemprop = signal.kind == ITEMPROP and signal.names == "availability"
        if (is_stock or is_itemprop) and (
            state := parse_availability(_strip_availability_label(signal.text))
        ):
            return state
    buttons = [
        state for signal in signals if signal.kind == BUTTON and (state := parse_availability(signal.text))
    ]
    if buttons and (not has_button or buttons[0] == Availability.PREORDER):
        return buttons[0]
    if has_button:
        return ""
    return next(
        (
            state
            for line in lines[:MAX_STATE_LINES]
            if len(line) < MAX_LINE_CHARS and (state := parse_availability(line))
        ),
        "",
    )


_AVAILABILITY_LABEL: Final = re.compile(
    r"^(?:availability|verfügbarkeit|disponibilité|disponibilidad|disponibilità|dostępność"
    r"|dostupnost)\s*:?\s*",
    re.IGNORECASE,
)


def _strip_availability_label(text: str) -> str:
    return _AVAILABILITY_LABEL.sub("", text)


def is_product_fact(signal: ProductSignal) -> bool:
    """Whether a fact is one that only products have: a stock state or an SKU."""
    if signal.kind != FACT:
        return False
    is_stock = STOCK_NAMES.search(signal.names) is not None and bool(parse_availability(signal.text))
    return is_stock or ("sku" in signal.names and bool(parse_identifier(signal.text)))


def find_brand(signals: Sequence[ProductSignal], title: str, lines: str) -> str:
    """Return the brand: by itemprop, by label, within the name, or by a link near the heading."""
    itemprops = [signal.text for signal in signals if signal.kind == ITEMPROP and signal.names == "brand"]
    shown = [text for signal in signals if signal.kind == BRAND and (text := _clean_brand(signal.text))]
    in_name = [text for text in shown if text.casefold() in title.casefold()]
    near = [text for signal in _brands_near_heading(signals) if (text := _clean_brand(signal.text))]
    candidates = (*itemprops, find_labelled_value(BRAND_LABEL, lines), *in_name, *near[:1])
    bare = (_clean_brand(one) for one in candidates)
    return next((one for one in bare if one), "")


MAX_NEAR_BRANDS: Final = 2


def _brands_near_heading(signals: Sequence[ProductSignal]) -> list[ProductSignal]:
    """Return the brand signals near the heading; many of them are a menu."""
    found = [signal for signal in signals[:NEAR_SIGNALS] if signal.kind == BRAND]
    found += [signal for signal in signals[-NEAR_SIGNALS // 2 :] if signal.kind == BRAND]
    return found if len({signal.text.casefold() for signal in found}) <= MAX_NEAR_BRANDS else []


_BRAND_PREFIX: Final = re.compile(
    rf"^(?:(?:{BRAND_LABEL})(?!\w)[\s:]*|by\s+|von\s+|par\s+|de\s+la marque\s+|visit the\b)", re.IGNORECASE
)


_STORE_SUFFIX: Final = re.compile(r"\s+store$", re.IGNORECASE)


_NOT_A_BRAND: Final = re.compile(
    r"(?:^|\b)(?:brands?|view all|see all|shop all|all products|more from|marken|marques|marcas|logo"
    r"|learn more|shop now"
    r"|alle|tous|n/a|unbekannt|products?|https?)\b|[<>{}@]|^\W*$",
    re.IGNORECASE,
)


def _clean_brand(text: str) -> str:
    bare = _BRAND_PREFIX.sub("", text).strip(" :|-\u2013")
    bare = _STORE_SUFFIX.sub("", bare).strip()
    is_one = 1 < len(bare) <= MAX_BRAND_CHARS and _NOT_A_BRAND.search(bare) is None
    return bare if is_one and not bare.isdigit() else ""


def find_identifiers(signals: Sequence[ProductSignal], text: str) -> dict[str, str]:
    """Return the SKU, MPN and GTIN."""
    itemprops = {signal.names: signal.text for signal in reversed(signals) if signal.kind == ITEMPROP}
    facts = [signal.text for signal in signals if signal.kind == FACT and "sku" in signal.names]
    identifiers = (signal.text for signal in signals if signal.kind == IDENTIFIER)
    own = next((code for one in (itemprops.get("sku", ""), *facts) if (code := parse_code(one))), "")
    others = (
        find_labelled_value(CODE_LABEL, text),
        *identifiers,
        find_labelled_value(MODEL_LABEL, text),
        itemprops.get("productid", ""),
    )
    mpn = parse_identifier(itemprops.get("mpn", "")) or parse_identifier(find_labelled_value(MPN_LABEL, text))
    gtins = (
        *(itemprops.get(name, "") for name in ("gtin13", "gtin12", "gtin", "gtin14", "gtin8", "isbn")),
        find_labelled_value(GTIN_LABEL, text),
    )
    return {
        "sku": own or next((number for one in others if (number := parse_identifier(one))), ""),
        "mpn": mpn,
        "gtin": next((number for one in gtins if (number := parse_gtin(one))), ""),
    }


MAX_URL_IDENTIFIERS: Final = 20
"""Maximum identifiers of a URL that are searched in the text."""


_PATH_IDENTIFIER: Final = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]{0,4}\d{5}[A-Za-z0-9]{0,15}(?=[/.]|$)")


def identifier_in_url(url: str, text: str) -> str:
    """Return the identifier at the end of the URL that also occurs in the text."""
    path = url.partition("://")[2].partition("/")[2].partition("?")[0]
    numbers = (match[0] for match in islice(_PATH_IDENTIFIER.finditer(path), MAX_URL_IDENTIFIERS))
    there = (one for one in numbers if one in text)
    return next((one for one in there if re.search(rf"(?<!\w){re.escape(one)}(?!\w)", text)), "")


def find_rating(signals: Sequence[ProductSignal], lines: Sequence[str]) -> dict[str, Any]:
    """Return rating and number of reviews, by elements named so, else by lines after the heading."""
    notes = [signal.text for signal in signals if signal.kind == FACT and _RATING_NAMES.search(signal.names)]
    near = [line for line in lines[:NEAR_SIGNALS] if len(line) < 2 * MAX_LINE_CHARS]
    texts = [*notes, *near, *(f"{one} {other}" for one, other in pairwise(near))]
    scores = (_parse_score(signal) for signal in signals if signal.kind == RATING)
    rating = next((rating for text in texts if (rating := parse_rating(text)) is not None), None)
    if rating is None:
        rating = next((score for score in scores if score is not None), None)
    count = next((count for text in texts if (count := parse_review_count(text)) is not None), None)
    return {
        "rating": rating,
        "review_count": count if count is not None else _bracketed_count(notes),
    }


def _parse_score(signal: ProductSignal) -> float | None:
    try:
        share = float(signal.text.replace(",", ".")) / float(signal.names)
    except ValueError:
        return None
    return round(share * BEST_RATING, 2) if 0 < share <= 1 else None


_IN_BRACKETS: Final = re.compile(r"(?:\d(?:[.,]\d{1,2})?\s*)?\(\s*(\d{1,3}(?:[., ]\d{3}){1,2}|\d{1,6})\s*\)")


def _bracketed_count(texts: Sequence[str]) -> int | None:
    """Return a count in parentheses, as after stars."""
    matches = (_IN_BRACKETS.fullmatch(text) for text in texts)
    return next((int(re.sub(r"\D", "", match[1])) for match in matches if match), None)


def lines_below_heading(text: str, name: str) -> list[str]:
    """Return the lines of a text after its heading, then those before it."""
    lines = text.split("\n")[: 4 * MAX_LINES]
    at = lines.index(name) if name in lines else -1
    return [*lines[at + 1 :], *lines[: max(0, at)]][:MAX_LINES]


def is_heading(signal: ProductSignal) -> bool:
    """Whether a signal is a heading with text."""
    return signal.kind == HEADING and bool(signal.text)
