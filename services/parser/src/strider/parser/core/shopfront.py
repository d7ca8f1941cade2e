"""What does a page offer, told by its form alone: heading, prices, buttons, notes?

Takes the signs of a shop, gives the attributes of the one product that the page is about, or none where it is
no product's page. What stands in boxes of one make, as a list does, comes marked as beside the matter.
Nothing here is certain, so everything that says itself in words for machines goes before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from strider.contracts.generated.words import Availability

from .prices import Price, as_currency, read_price
from .shopsigns import AMOUNT, BUTTON, HEADING, NOTE, NUMBER, PROPERTY, Shop, Sign
from .shopwords import (
    BRAND_LABEL,
    BUY,
    GTIN_LABEL,
    MPN_LABEL,
    SKU_LABEL,
    labelled,
    number_in,
    rating_in,
    reviews_in,
    state_of,
)

WINDOW: Final = 12
"""Signs around a price that may be its old one."""

FEW: Final = 3
NEAR_BUTTON: Final = 10_000.0
"""More than any distance: what can be bought beside it is the price."""
ENOUGH: Final = 2
MAX_NAME_CHARS: Final = 300
MAX_BRAND_CHARS: Final = 40

_OLD: Final = re.compile(
    r"\bold|\bwas\b|compare|regular|\blist|rrp|msrp|uvp|before|original|cross|strike|non-sale|retail|\bfull-price"
)
_NEW: Final = re.compile(r"sale|special|final|\bnow\b|current|discount|reduced|promo|\bour")
_NO_PRICE: Final = re.compile(
    r"unit-?price|per-?unit|sav(?:e|ing)|shipping|deliver|instal|month|klarna|afterpay|deposit|tax-?amount|filter|\bmin|\bmax",
)
_NO_PRICE_TEXT: Final = re.compile(
    r"\b(?:save|saving|you save|off|shipping|delivery|versand|/ ?mo\b|per month|monthly|a month|payments? of"
    r"|interest|sparen|points|orders over|unit price|apr|financ\w*|cashback)\b"
    r"|/ ?(?:kg|100|l\b|oz|lb|ea\b|month)",
    re.IGNORECASE,
)
_BEFORE_TEXT: Final = re.compile(
    r"\b(?:was|list price|regular|rrp|msrp|uvp|statt|before|original|prix conseillé|antes"
    r"|prezzo consigliato)\b",
    re.IGNORECASE,
)
_NOW_TEXT: Final = re.compile(
    r"\b(?:now|sale price|special price|our price|jetzt|aktionspreis|maintenant|ahora|agora|adesso|nu)\b",
    re.IGNORECASE,
)
_SHARE: Final = re.compile(r"[-\u2212]?\s?\d{1,3}(?:[.,]\d+)?\s?%(?:\s*off\b)?", re.IGNORECASE)
_FROM: Final = re.compile(r"\b(?:from|ab|à partir|desde|da|starting|fra|vanaf|от)\b", re.IGNORECASE)
_RANGE: Final = re.compile(
    r"\d\s*(?:[^\d\s]{1,4}\s+)?(?:[-\u2013\u2014~]|to|bis|à)\s*[^\d\s]{0,4}\s*\d", re.IGNORECASE
)
_PAGE: Final = re.compile(
    r"product-(?:page|template|detail|view)|single-product|template-product|catalog-product|pdp"
)
_PATH: Final = re.compile(
    r"/(?:products?|p|dp|item|itm|pr|pd|shop|buy|artikel|produit|produkt|producto)/[^/?]", re.IGNORECASE
)
_OF_OFFERS: Final = frozenset({"price", "pricecurrency", "availability", "sku"})
_OF_RATING: Final = re.compile(r"rating|review|stars")
_OF_STOCK: Final = re.compile(r"stock|availab|inventory")


@dataclass(frozen=True, slots=True)
class Front:
    """What a page's form is read with."""

    shop: Shop
    text: str
    """Its visible text, a line for each block."""
    url: str
    title: str
    is_said: bool
    """Whether the page says in its own words for machines that it is a product's."""
    country: str = ""


def find_offer(front: Front) -> dict[str, Any]:
    """Give the attributes of what the page offers; empty for a page that offers nothing of its own."""
    name, signs = _below_heading(front)
    found = {**_prices(signs, front), **_properties(signs)}
    if not found.get("price"):
        found |= _price_of_text(name, front)
    button = next((sign for sign in signs if _buys(sign)), None)
    evidence = (
        bool(found.get("price")),
        button is not None,
        front.is_said or _PAGE.search(front.shop.page_words) is not None,
        _PATH.search(front.url) is not None,
        any(sign.kind == PROPERTY and sign.words in _OF_OFFERS for sign in signs),
        any(_is_of_goods(sign) for sign in signs),
    )
    is_offer = evidence[0] or (button is not None and front.is_said)
    if not name or not is_offer or sum(evidence) < ENOUGH:
        return {}
    return {
        "name": name[:MAX_NAME_CHARS],
        "availability": _availability(signs, button, front.text),
        "category": " > ".join(_crumbs(front.shop.crumbs, name)),
        "brand": _brand(signs, f"{front.title} {name}", front.text),
        **_numbers(signs, front),
        **_rating(signs),
        **{name: value for name, value in found.items() if value},
    }


def _below_heading(front: Front) -> tuple[str, list[Sign]]:
    """Give the heading and all that matters; what follows the heading comes first."""
    signs = front.shop.signs
    title = set(front.title.lower().split())
    headings = [(at, sign) for at, sign in enumerate(signs) if sign.kind == HEADING and sign.text]
    if not headings:
        return "", [sign for sign in signs if not sign.is_beside]
    at, heading = max(
        headings, key=lambda found: (len(title & set(found[1].text.lower().split())), -found[0])
    )
    after = [sign for sign in signs[at + 1 :] if not sign.is_beside]
    return heading.text, after + [sign for sign in signs[:at] if not sign.is_beside]


def _prices(signs: Sequence[Sign], front: Front) -> dict[str, str]:
    amounts = [
        (at, part, price)
        for at, sign in enumerate(signs)
        for part in _parted(sign)
        if (price := _price(part, front.country))
    ]
    now = [found for found in amounts if not _is_old(found[1])]
    now = now or [found for found in amounts if not found[1].is_struck]
    if not now:
        return {}
    buttons = [at for at, sign in enumerate(signs) if _buys(sign)]
    at, sign, price = max(now, key=lambda found: _nearness(found[0], buttons))
    near = [(old, other.amount) for place, old, other in amounts if abs(place - at) <= WINDOW]
    before = [amount for old, amount in near if _is_old(old) and float(amount) > float(price.amount)]
    found = {"price": price.amount, "currency": price.currency, "old_price": before[0] if before else ""}
    beside = next((other for place, one, other in now if place == at + 1 and one.words == sign.words), price)
    if ends := _range(sign.text, front.country):
        found |= {"price_low": ends[0], "price_high": ends[1]}
    elif float(beside.amount) > float(price.amount):
        found |= {"price_low": price.amount, "price_high": beside.amount}
    elif _FROM.search(sign.text.partition(price.amount[:1])[0]):
        found["price_low"] = price.amount
    return found


def _parted(sign: Sign) -> tuple[Sign, ...]:
    """Part what says in one text what it cost and what it costs: `Was £100 Now £80`."""
    before, now = _BEFORE_TEXT.search(sign.text), _NOW_TEXT.search(sign.text)
    if before is None or now is None:
        return (sign,)
    at = max(before.start(), now.start())
    one, other = sign.text[:at], sign.text[at:]
    if read_price(one) is None or read_price(other) is None:
        return (sign,)
    return sign._replace(text=one), sign._replace(text=other)


def _nearness(at: int, buttons: Sequence[int]) -> float:
    """Weigh a place: the first ones below the heading count most, and those beside the way to buy."""
    is_near = any(abs(button - at) <= WINDOW for button in buttons[:FEW])
    return (NEAR_BUTTON if is_near else 0.0) - at


def _price(sign: Sign, country: str) -> Price | None:
    if sign.kind != AMOUNT or _NO_PRICE.search(sign.words):
        return None
    bare = _SHARE.sub(" ", sign.text)
    if "%" in bare or _NO_PRICE_TEXT.search(bare):
        return None
    price = read_price(bare, country=country)
    is_sure = price is not None and (bare == sign.text or bool(price.currency))  # beside a share: money only
    return price if price is not None and is_sure and float(price.amount) else None


def _is_old(sign: Sign) -> bool:
    """Say whether an amount is one of before: by being struck, by its text, by the innermost telling name."""
    if sign.is_struck or _BEFORE_TEXT.search(sign.text):
        return True
    old, new = (
        max((match.start() for match in form.finditer(sign.words)), default=-1) for form in (_OLD, _NEW)
    )
    return old > new


def _range(text: str, country: str) -> tuple[str, str] | None:
    match = _RANGE.search(text)
    if match is None:
        return None
    middle = match.start() + 1
    low, high = read_price(text[:middle], country=country), read_price(text[middle:], country=country)
    return (low.amount, high.amount) if low and high and float(high.amount) > float(low.amount) else None


def _price_of_text(name: str, front: Front) -> dict[str, str]:
    """Read the first line after the heading that is a price and nothing else."""
    _, found, rest = front.text.partition(f"\n{name}\n") if name else ("", "", "")
    for line in rest[:3_000].split("\n")[:40] if found else ():
        price = read_price(line, country=front.country) if len(line) <= 24 else None  # noqa: PLR2004  # a price's length
        if (
            price
            and price.currency
            and "%" not in line
            and not _NO_PRICE_TEXT.search(line)
            and float(price.amount)
        ):
            return {"price": price.amount, "currency": price.currency}
    return {}


def _properties(signs: Sequence[Sign]) -> dict[str, str]:
    """Give what stands in properties that belong to no item: shops forget the item's own element."""
    said: dict[str, str] = {}
    for sign in signs:
        if sign.kind == PROPERTY and sign.text:
            said.setdefault(sign.words, sign.text)
    price = read_price(said.get("price", ""))
    found = {"currency": as_currency(said.get("pricecurrency", ""))}
    if price and float(price.amount):
        found["price"] = price.amount
    return {name: value for name, value in found.items() if value}


def _buys(sign: Sign) -> bool:
    return sign.kind == BUTTON and not sign.is_off and BUY.search(sign.text) is not None


def _is_of_goods(sign: Sign) -> bool:
    """Say whether a note is of the kind that only things have which can be bought."""
    if sign.kind != NOTE:
        return False
    is_stock = _OF_STOCK.search(sign.words) is not None and bool(state_of(sign.text))
    return is_stock or ("sku" in sign.words and bool(number_in(sign.text)))


def _availability(signs: Sequence[Sign], button: Sign | None, text: str) -> str:
    for sign in signs:
        is_stock = sign.kind == NOTE and _OF_STOCK.search(sign.words)
        is_said = sign.kind == PROPERTY and sign.words == "availability"
        if (is_stock or is_said) and (state := state_of(sign.text)):
            return state
    if button is not None:
        return Availability.IN_STOCK.value
    for sign in signs:
        if sign.kind == BUTTON and (state := state_of(sign.text)):
            return state
    return next(
        (
            state
            for line in text.split("\n")[:400]
            if len(line) < MAX_BRAND_CHARS and (state := state_of(line))
        ),
        "",
    )


def _crumbs(crumbs: Sequence[str], name: str) -> Iterator[str]:
    for number, crumb in enumerate(crumbs):
        is_home = number == 0 and re.fullmatch(
            r"home(?:page)?|start(?:seite)?|accueil|inicio|shop", crumb, re.IGNORECASE
        )
        if not is_home and crumb.casefold() != name.casefold():
            yield crumb


def _brand(signs: Sequence[Sign], named: str, text: str) -> str:
    """Give the brand: one that is only noted must stand in the name as well."""
    said = [sign.text for sign in signs if sign.kind == PROPERTY and sign.words == "brand"]
    noted = [_BRAND.sub("", sign.text) for sign in signs if sign.kind == NOTE and "brand" in sign.words]
    said += [brand for brand in noted if brand.casefold() in named.casefold()]
    bare = (_BRAND.sub("", one).strip() for one in (*said, labelled(BRAND_LABEL, text)))
    return next((one for one in bare if 1 < len(one) <= MAX_BRAND_CHARS), "")


_BRAND: Final = re.compile(r"^(?:brand|marke|marque|marca|by|visit the)\b[\s:]*|\s+store$", re.IGNORECASE)


def _numbers(signs: Sequence[Sign], front: Front) -> dict[str, str]:
    text = front.text
    said = {sign.words: sign.text for sign in reversed(signs) if sign.kind == PROPERTY}
    noted = (sign.text for sign in signs if sign.kind == NOTE and "sku" in sign.words)
    stated = (sign.text for sign in signs if sign.kind == NUMBER)
    skus = (said.get("sku", ""), *noted, labelled(SKU_LABEL, text), *stated, said.get("productid", ""))
    skus = (*skus, _shared_number(front))
    mpn = number_in(said.get("mpn", "")) or number_in(labelled(MPN_LABEL, text))
    gtins = (
        *(said.get(name, "") for name in ("gtin13", "gtin12", "gtin", "gtin14", "gtin8")),
        labelled(GTIN_LABEL, text),
    )
    return {
        "sku": next((number for one in skus if (number := number_in(one))), ""),
        "mpn": mpn,
        "gtin": next((number for one in gtins if (number := "".join(filter(str.isdigit, one)))), ""),
    }


def _shared_number(front: Front) -> str:
    """Give the number that a page's address ends with and its text says as well."""
    path = front.url.partition("://")[2].partition("/")[2].partition("?")[0]
    numbers = (match[0] for match in _NUMBER_OF_PATH.finditer(path))
    return next((one for one in numbers if re.search(rf"(?<!\w){re.escape(one)}(?!\w)", front.text)), "")


_NUMBER_OF_PATH: Final = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]{0,4}\d{5}[A-Za-z0-9]{0,15}(?=[/.]|$)")


def _rating(signs: Sequence[Sign]) -> dict[str, Any]:
    notes = [
        sign.text for sign in signs if sign.kind == NOTE and re.search("rating|review|stars", sign.words)
    ]
    return {
        "rating": next((rating for text in notes if (rating := rating_in(text)) is not None), None),
        "review_count": next((count for text in notes if (count := reviews_in(text)) is not None), None),
    }
