"""Which of the amounts that a shop's page shows is the price, and which are its former one and its range?

Takes signs in the order in which they matter, what follows the heading first. What is for another amount
(shipping, a month, a unit) is no price; what is crossed out or named so is one of before.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from .commerce_vocabulary import BUY
from .prices import Price, is_ambiguous_dollar, parse_currency_field, parse_price
from .signal_models import AMOUNT, BARE_AMOUNT, BUTTON, DISCOUNT, ITEMPROP, Sign

NEAR_SIGNALS: Final = 12
"""Signs around a price that may be its old one."""

FEW: Final = 3
NEAR_BUTTON_WEIGHT: Final = 10_000.0
"""More than any distance: what can be bought beside it is the price."""
ASIDE: Final = 500.0
"""Less than being beside the button: a price without tax, or for several, where there is another one."""
DISCOUNT_TOLERANCE_PERCENT: Final = 1.5
"""How many percent a share that is told may differ from what two amounts come to."""

_FORMER_PRICE_NAMES: Final = re.compile(
    r"\bold|\bwas\b|compare|regular|\blist|rrp|msrp|uvp|before|original|\borg\b|cross|strike|non-sale|retail"
    r"|\bfull-price|basis-?price|from-?price|anterior|antiguo|ancien|prix-?barr|barr[eé]\b|vorher|streich"
    r"|statt"
    r"|vecchio|listino"
    r"|de-price|valor-de|\bstar[aey]\b|reference-price"
)
_CURRENT_PRICE_NAMES: Final = re.compile(
    r"sale|special|final|\bnow\b|current|discount|reduced|promo|\bour|actual|aktion|nuevo|nouveau"
    r"|valor-por|best-price"
)
_OTHER_AMOUNT_NAMES: Final = re.compile(
    r"unit-?price|per-?unit|price-?(?:per-?)?unit|sav(?:e|ing)|shipping|deliver|instal|month|klarna"
    r"|afterpay|deposit"
    r"|tax-?amount|filter|\bmin|\bmax|omnibus|lowest|parcel|dividido|versand|livraison|total-?price"
    r"|cart-?total",
)
_OTHER_AMOUNT_TEXT: Final = re.compile(
    r"\b(?:save|saving|you save|off|shipping|delivery|versand\w*|/ ?mo\b|per month|monthly|a month"
    r"|payments? of"
    r"|interest|sparen|points|orders? over|orders? above|unit price|apr|financ\w*|cashback|deposit|gift card"
    r"|free over|per user|per year|per night|pro monat|monatlich|par mois|al mes|al mese|livraison"
    r"|port offert"
    r"|(?:offerte?s?|gratuite?s?) dès|env[ií]o|frete|spedizion\w+|verzend\w*|frakt|leverans|dostaw\w+"
    r"|wysyłk\w+|доставк\w+|kargo"
    r"|ab einem bestellwert|najniższa cena|économisez|ahorras?|risparmi\w*|ušetříte|sem juros|sin intereses"
    r"|instal?l?ments?|rate|raten|ratenzahlung|подписк\w+|кредит\w*|reward|subtotal|zwischensumme)\b"
    r"|\+\s?[^\w\s]?\s?\d|/ ?(?:kg|100|l\b|oz|lb|ea\b|month|mo\b|yr|year|user)|\d ?x (?:de|of) |배송"
    r"|送料|運費"
    r"|运费|ポイント|적립",
    re.IGNORECASE,
)
_SECONDARY_PRICE_TEXT: Final = re.compile(
    r"\b(?:ex\.? ?(?:tax|vat|gst)|excl\w*\.?|without tax|netto|ohne mwst|hors taxes?|HT|sin iva"
    r"|exkl\w*\.?|ex\. moms"
    r"|or more|ab \d+ stück|je \d+)\b",
    re.IGNORECASE,
)
_FORMER_PRICE_TEXT: Final = re.compile(
    r"\b(?:was|list price|regular|rrp|r\.r\.p|msrp|m\.r\.p|mrp|uvp|statt|before|original|old price"
    r"|prix conseillé"
    r"|prix barré|ancien prix|au lieu de|antes|precio anterior|de:|prezzo consigliato|prezzo precedente"
    r"|invece di"
    r"|ord\.? ?pris|ordinarie pris|tidigare|førpris|før|veil\.? pris|cena regularna|původní cena|běžná cena"
    r"|adviesprijs|van voor|instead of|reduced from|comp(?:are)? at|eredeti ár|старая цена|定価|参考価格|原价"
    r"|原價)(?!\w)",
    re.IGNORECASE,
)
_CURRENT_PRICE_TEXT: Final = re.compile(
    r"\b(?:now|sale price|special price|our price|jetzt|aktionspreis|maintenant|ahora|agora|por:|adesso"
    r"|nu)(?!\w)",
    re.IGNORECASE,
)
_SHARE: Final = re.compile(r"[-\u2212]?\s?\d{1,3}(?:[.,]\d+)?\s?%(?:\s*off\b)?", re.IGNORECASE)
_PERCENT: Final = re.compile(r"\d{1,2}(?:[.,]\d+)?")
_FROM_TEXT: Final = re.compile(r"\b(?:from|ab|à partir|desde|da|starting|fra|vanaf|от)\b", re.IGNORECASE)
_RANGE: Final = re.compile(
    r"\d\s*(?:[^\d\s]{1,4}\s+)?(?:[-\u2013\u2014~]|to|bis|à)\s*[^\d\s]{0,4}\s*\d", re.IGNORECASE
)


class _LocatedPrice(NamedTuple):
    """One amount, where it stands."""

    at: int
    sign: Sign
    price: Price


def is_buy_button(signal: Sign) -> bool:
    """Say whether this is a button that sells."""
    return signal.kind == BUTTON and not signal.is_disabled and BUY.search(signal.text) is not None


def find_visible_prices(signals: Sequence[Sign], country: str) -> dict[str, str]:
    """Give price, currency, former price and range; amounts without a name count where others fail."""
    return _prices(signals, AMOUNT, country) or _prices(signals, BARE_AMOUNT, country)


def _prices(signs: Sequence[Sign], kind: int, country: str) -> dict[str, str]:
    amounts = [
        _LocatedPrice(at, part, price)
        for at, sign in enumerate(signs)
        if sign.kind == kind
        for part in _split_former_and_current(sign)
        if (price := _price(part, country))
    ]
    now = [found for found in amounts if not _is_former_price(found.sign)]
    now = now or [found for found in amounts if not found.sign.is_struck]
    if not now:
        return {}
    buttons = [at for at, sign in enumerate(signs) if is_buy_button(sign)]
    best = max(now, key=lambda found: _weight(found, buttons))
    is_guess = is_ambiguous_dollar(best.sign.text, country)
    of_money = {"likely_currency" if is_guess else "currency": best.price.currency}
    found = {"price": best.price.amount, **of_money, **_before(best, amounts, signs)}
    if "old_price" not in found:
        found |= _ends(best, now, country)
    return found


def _before(best: _LocatedPrice, amounts: Sequence[_LocatedPrice], signs: Sequence[Sign]) -> dict[str, str]:
    """Find what it cost before: what is marked so, or what a share that is taken off comes to."""
    value = float(best.price.amount)
    near = [
        one for one in amounts if abs(best.at - one.at) <= NEAR_SIGNALS and float(one.price.amount) > value
    ]
    old = next((one for one in near if _is_former_price(one.sign)), None)
    if old is None:
        shares = [
            _discount_percent(sign.text)
            for sign in signs[max(0, best.at - NEAR_SIGNALS) : best.at + NEAR_SIGNALS]
            if _has_discount(sign)
        ]
        old = next((one for one in near if _matches_discount(value, float(one.price.amount), shares)), None)
    return {"old_price": old.price.amount} if old else {}


def _has_discount(sign: Sign) -> bool:
    return sign.kind in {DISCOUNT, AMOUNT} and "%" in sign.text


def _discount_percent(text: str) -> float:
    match = _PERCENT.search(text.partition("%")[0][-6:])
    return float(match[0].replace(",", ".")) if match else 0.0


def _matches_discount(now: float, before: float, shares: Sequence[float]) -> bool:
    return any(
        share and abs(100 * (1 - now / before) - share) <= DISCOUNT_TOLERANCE_PERCENT for share in shares
    )


def _ends(best: _LocatedPrice, now: Sequence[_LocatedPrice], country: str) -> dict[str, str]:
    """Give the range of a price, where it is one."""
    at, sign, price = best
    beside = next((one.price for one in now if one.at == at + 1 and one.sign.words == sign.words), price)
    if ends := _range_in_text(sign.text, country):
        return {"price_low": ends[0], "price_high": ends[1]}
    if sign.kind == AMOUNT and float(beside.amount) > float(price.amount):
        return {"price_low": price.amount, "price_high": beside.amount}
    if _FROM_TEXT.search(sign.text.partition(price.amount[:1])[0]):
        return {"price_low": price.amount}
    return {}


def _split_former_and_current(sign: Sign) -> tuple[Sign, ...]:
    """Part what says in one text what it cost and what it costs: `Was £100 Now £80`."""
    before, now = _FORMER_PRICE_TEXT.search(sign.text), _CURRENT_PRICE_TEXT.search(sign.text)
    if before is None or now is None:
        return (sign,)
    at = max(before.start(), now.start())
    one, other = sign.text[:at], sign.text[at:]
    if parse_price(one) is None or parse_price(other) is None:
        return (sign,)
    return sign._replace(text=one), sign._replace(text=other)


def _weight(found: _LocatedPrice, buttons: Sequence[int]) -> float:
    """Weigh a place: the first ones below the heading count most, and those beside the way to buy."""
    is_near = any(abs(button - found.at) <= NEAR_SIGNALS for button in buttons[:FEW])
    is_aside = _SECONDARY_PRICE_TEXT.search(found.sign.text) is not None or "without-tax" in found.sign.words
    return (NEAR_BUTTON_WEIGHT if is_near else 0.0) - found.at - (ASIDE if is_aside else 0.0)


def _price(sign: Sign, country: str) -> Price | None:
    if _OTHER_AMOUNT_NAMES.search(sign.words):
        return None
    bare = _SHARE.sub(" ", sign.text)
    if "%" in bare or _OTHER_AMOUNT_TEXT.search(bare):
        return None
    price = parse_price(bare, country=country)
    is_sure = price is not None and (bare == sign.text or bool(price.currency))  # beside a share: money only
    if price is None or (sign.kind == BARE_AMOUNT and not price.currency and "kr" not in bare.lower()):
        return None
    return price if is_sure and float(price.amount) else None


def _is_former_price(sign: Sign) -> bool:
    """Say whether an amount is one of before: by being struck, by its text, by the innermost telling name."""
    if sign.is_struck or _FORMER_PRICE_TEXT.search(sign.text):
        return True
    old, new = (
        max((match.start() for match in form.finditer(sign.words)), default=-1)
        for form in (_FORMER_PRICE_NAMES, _CURRENT_PRICE_NAMES)
    )
    return old > new


def _range_in_text(text: str, country: str) -> tuple[str, str] | None:
    match = _RANGE.search(text)
    if match is None:
        return None
    middle = match.start() + 1
    low, high = parse_price(text[:middle], country=country), parse_price(text[middle:], country=country)
    return (low.amount, high.amount) if low and high and float(high.amount) > float(low.amount) else None


def price_below_heading(name: str, text: str, country: str) -> dict[str, str]:
    """Read the first line after the heading that is a price and nothing else."""
    _, found, rest = text.partition(f"\n{name}\n") if name else ("", "", "")
    for line in rest[:3_000].split("\n")[:40] if found else ():
        price = parse_price(line, country=country) if len(line) <= MAX_PRICE_LINE_CHARS else None
        is_one = price and price.currency and "%" not in line and not _OTHER_AMOUNT_TEXT.search(line)
        if price and is_one and not _FORMER_PRICE_TEXT.search(line) and float(price.amount):
            return {"price": price.amount, "currency": price.currency}
    return {}


MAX_PRICE_LINE_CHARS: Final = 24
"""A line that is a price and nothing else is not longer."""


def has_many_prices(signals: Sequence[Sign]) -> bool:
    """Say whether prices stand in properties of several things."""
    return sum(sign.kind == ITEMPROP and sign.words == "price" for sign in signals) >= MANY_PRICES


MANY_PRICES: Final = 3


def price_of_itemprops(signals: Sequence[Sign]) -> dict[str, str]:
    """Give what stands in properties that belong to no item: shops forget the item's own element."""
    said: dict[str, str] = {}
    for sign in signals:
        if sign.kind == ITEMPROP and sign.text:
            said.setdefault(sign.words, sign.text)
    if has_many_prices(signals):
        return {}
    price = parse_price(said.get("price", ""))
    found = {"currency": parse_currency_field(said.get("pricecurrency", ""))}
    if price and float(price.amount):
        found["price"] = price.amount
    return {name: value for name, value in found.items() if value}
