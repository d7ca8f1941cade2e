"""What does a shop's page note of its product: stock, brand, numbers, rating, its place in the shop?

Takes the page's signs in the order in which they matter, and its text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from typing import Any, Final

from strider.contracts.generated.enums import Availability

from .commerce_vocabulary import (
    BRAND_LABEL,
    CODE_LABEL,
    GTIN_LABEL,
    MODEL_LABEL,
    MPN_LABEL,
    labelled,
    parse_availability,
    parse_code,
    parse_gtin,
    parse_identifier,
    parse_rating,
    parse_review_count,
)
from .signal_models import BRAND, BUTTON, FACT, HEADING, IDENTIFIER, ITEMPROP, RATING, Sign

MAX_BRAND_CHARS: Final = 40
NEAR_SIGNALS: Final = 14
"""Signs below the heading among which the brand stands that belongs to it."""
MAX_LINES: Final = 400
MAX_STATE_LINES: Final = 60
"""Lines below the heading that may speak of its thing; further down it is of others."""
MAX_LINE_CHARS: Final = 40
BEST_RATING: Final = 5.0

STOCK_NAMES: Final = re.compile(r"stock|availab|inventory|delivery-information")
_RATING_NAMES: Final = re.compile(r"rating|review|stars")


def visible_availability(signals: Sequence[Sign], lines: Sequence[str], *, has_button: bool) -> str:
    """Give the state that is said: in elements called so, in properties, on buttons, in a line of its own."""
    for sign in signals:
        is_stock = sign.kind == FACT and STOCK_NAMES.search(sign.words)
        is_said = sign.kind == ITEMPROP and sign.words == "availability"
        if (is_stock or is_said) and (state := parse_availability(_strip_availability_label(sign.text))):
            return state
    buttons = [state for sign in signals if sign.kind == BUTTON and (state := parse_availability(sign.text))]
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


def is_product_fact(signal: Sign) -> bool:
    """Say whether a note is of the kind that only things have which can be bought."""
    if signal.kind != FACT:
        return False
    is_stock = STOCK_NAMES.search(signal.words) is not None and bool(parse_availability(signal.text))
    return is_stock or ("sku" in signal.words and bool(parse_identifier(signal.text)))


def trail(crumbs: Sequence[str], name: str) -> str:
    """Give where in the shop the page stands, without its own name and the shop's front page."""
    return " > ".join(_crumbs(crumbs, name))


def _crumbs(crumbs: Sequence[str], name: str) -> Iterator[str]:
    for number, crumb in enumerate(crumbs):
        is_home = number == 0 and _HOME.fullmatch(crumb) is not None
        if not is_home and crumb.casefold() != name.casefold():
            yield crumb


_HOME: Final = re.compile(
    r"home(?:page)?|start(?:seite)?|accueil|inicio|início|shop|hem|hjem|strona główna|главная|domů"
    r"|etusivu|kezdőlap"
    r"|anasayfa|ana sayfa|ホーム|首页|首頁|홈",
    re.IGNORECASE,
)


def find_brand(signals: Sequence[Sign], title: str, lines: str) -> str:
    """Give the brand: by property, by label, in the name, by what leads to it beside the heading."""
    said = [sign.text for sign in signals if sign.kind == ITEMPROP and sign.words == "brand"]
    shown = [text for sign in signals if sign.kind == BRAND and (text := _clean_brand(sign.text))]
    in_name = [text for text in shown if text.casefold() in title.casefold()]
    near = [text for sign in _brands_near_heading(signals) if (text := _clean_brand(sign.text))]
    candidates = (*said, labelled(BRAND_LABEL, lines), *in_name, *near[:1])
    bare = (_clean_brand(one) for one in candidates)
    return next((one for one in bare if one), "")


def _brands_near_heading(signs: Sequence[Sign]) -> list[Sign]:
    """Give what stands for brands next to the heading; where there are many of them it is a menu."""
    found = [sign for sign in signs[:NEAR_SIGNALS] if sign.kind == BRAND]
    found += [sign for sign in signs[-NEAR_SIGNALS // 2 :] if sign.kind == BRAND]
    return found if len({sign.text.casefold() for sign in found}) <= FEW_BRANDS else []


FEW_BRANDS: Final = 2


def _clean_brand(text: str) -> str:
    bare = _LEAD.sub("", text).strip(" :|-\u2013")
    bare = _STORE_SUFFIX.sub("", bare).strip()
    is_one = 1 < len(bare) <= MAX_BRAND_CHARS and _NOT_A_BRAND.search(bare) is None
    return bare if is_one and not bare.isdigit() else ""


_LEAD: Final = re.compile(
    rf"^(?:(?:{BRAND_LABEL})(?!\w)[\s:]*|by\s+|von\s+|par\s+|de\s+la marque\s+|visit the\b)", re.IGNORECASE
)
_STORE_SUFFIX: Final = re.compile(r"\s+store$", re.IGNORECASE)
_NOT_A_BRAND: Final = re.compile(
    r"(?:^|\b)(?:brands?|view all|see all|shop all|all products|more from|marken|marques|marcas|logo"
    r"|learn more|shop now"
    r"|alle|tous|n/a|unbekannt|products?|https?)\b|[<>{}@]|^\W*$",
    re.IGNORECASE,
)


def find_identifiers(signals: Sequence[Sign], text: str) -> dict[str, str]:
    """Give the numbers of a thing: the shop's, the maker's and the trade's."""
    said = {sign.words: sign.text for sign in reversed(signals) if sign.kind == ITEMPROP}
    noted = [sign.text for sign in signals if sign.kind == FACT and "sku" in sign.words]
    stated = (sign.text for sign in signals if sign.kind == IDENTIFIER)
    own = next((code for one in (said.get("sku", ""), *noted) if (code := parse_code(one))), "")
    others = (labelled(CODE_LABEL, text), *stated, labelled(MODEL_LABEL, text), said.get("productid", ""))
    mpn = parse_identifier(said.get("mpn", "")) or parse_identifier(labelled(MPN_LABEL, text))
    gtins = (
        *(said.get(name, "") for name in ("gtin13", "gtin12", "gtin", "gtin14", "gtin8", "isbn")),
        labelled(GTIN_LABEL, text),
    )
    return {
        "sku": own or next((number for one in others if (number := parse_identifier(one))), ""),
        "mpn": mpn,
        "gtin": next((number for one in gtins if (number := parse_gtin(one))), ""),
    }


def identifier_in_url(url: str, text: str) -> str:
    """Give the number that a page's address ends with and its text says as well."""
    path = url.partition("://")[2].partition("/")[2].partition("?")[0]
    numbers = (match[0] for match in islice(_PATH_IDENTIFIER.finditer(path), MAX_URL_IDENTIFIERS))
    there = (one for one in numbers if one in text)
    return next((one for one in there if re.search(rf"(?<!\w){re.escape(one)}(?!\w)", text)), "")


MAX_URL_IDENTIFIERS: Final = 20
"""Of an address, that are looked for in a text."""


_PATH_IDENTIFIER: Final = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]{0,4}\d{5}[A-Za-z0-9]{0,15}(?=[/.]|$)")


def find_rating(signals: Sequence[Sign], lines: Sequence[str]) -> dict[str, Any]:
    """Give how it is rated, by how many: as elements of that name say, else a line below the heading."""
    notes = [sign.text for sign in signals if sign.kind == FACT and _RATING_NAMES.search(sign.words)]
    near = [line for line in lines[:NEAR_SIGNALS] if len(line) < 2 * MAX_LINE_CHARS]
    texts = [*notes, *near, *(f"{one} {other}" for one, other in pairwise(near))]
    scores = (_parse_score(sign) for sign in signals if sign.kind == RATING)
    rating = next((rating for text in texts if (rating := parse_rating(text)) is not None), None)
    if rating is None:
        rating = next((score for score in scores if score is not None), None)
    count = next((count for text in texts if (count := parse_review_count(text)) is not None), None)
    return {
        "rating": rating,
        "review_count": count if count is not None else _counted(notes),
    }


def _parse_score(sign: Sign) -> float | None:
    try:
        share = float(sign.text.replace(",", ".")) / float(sign.words)
    except ValueError:
        return None
    return round(share * BEST_RATING, 2) if 0 < share <= 1 else None


def _counted(notes: Sequence[str]) -> int | None:
    """Read a count that stands in brackets behind stars."""
    matches = (_IN_BRACKETS.fullmatch(text) for text in notes)
    return next((int(re.sub(r"\D", "", match[1])) for match in matches if match), None)


_IN_BRACKETS: Final = re.compile(r"(?:\d(?:[.,]\d{1,2})?\s*)?\(\s*(\d{1,3}(?:[., ]\d{3}){1,2}|\d{1,6})\s*\)")


def lines_below_heading(text: str, name: str) -> list[str]:
    """Give the lines of a text below its heading, then those above it."""
    lines = text.split("\n")[: 4 * MAX_LINES]
    at = lines.index(name) if name in lines else -1
    return [*lines[at + 1 :], *lines[: max(0, at)]][:MAX_LINES]


def is_heading(signal: Sign) -> bool:
    """Say whether a sign is a heading that says something."""
    return signal.kind == HEADING and bool(signal.text)
