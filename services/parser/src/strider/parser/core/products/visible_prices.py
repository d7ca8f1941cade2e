"""Choose price, former price and price range among the visible amounts.

Takes signals, those after the heading first. Amounts for something else (shipping, instalments, unit prices)
are excluded; struck-through amounts and those named so are former prices.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from .commerce_vocabulary import BUY_PHRASES
from .prices import Price, is_ambiguous_dollar, parse_currency_field, parse_price
from .signal_models import AMOUNT, BARE_AMOUNT, BUTTON, DISCOUNT, ITEMPROP, ProductSignal

NEAR_SIGNALS: Final = 12
"""Distance in signals within which an amount may be the former price."""

MAX_BUTTONS: Final = 3
NEAR_BUTTON_WEIGHT: Final = 10_000.0
"""Outweighs any distance: an amount near a buy button is the price."""
SECONDARY_PRICE_PENALTY: Final = 500.0
"""Weighs less than a near button: net prices and quantity prices are used if there are no others."""
DISCOUNT_TOLERANCE_PERCENT: Final = 1.5
"""Percentage points by which a stated discount may differ from that of two amounts."""

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
_DISCOUNT: Final = re.compile(r"[-\u2212]?\s?\d{1,3}(?:[.,]\d+)?\s?%(?:\s*off\b)?", re.IGNORECASE)
_PERCENT: Final = re.compile(r"\d{1,2}(?:[.,]\d+)?")
_FROM_TEXT: Final = re.compile(r"\b(?:from|ab|à partir|desde|da|starting|fra|vanaf|от)\b", re.IGNORECASE)
_RANGE: Final = re.compile(
    r"\d\s*(?:[^\d\s]{1,4}\s+)?(?:[-\u2013\u2014~]|to|bis|à)\s*[^\d\s]{0,4}\s*\d", re.IGNORECASE
)


class _LocatedPrice(NamedTuple):
    """An amount and its position among the signals."""

    position: int
    signal: ProductSignal
    price: Price


def is_buy_button(signal: ProductSignal) -> bool:
    """Whether a signal is an enabled buy button."""
    return signal.kind == BUTTON and not signal.is_disabled and BUY_PHRASES.search(signal.text) is not None


def find_visible_prices(signals: Sequence[ProductSignal], country: str) -> dict[str, str]:
    """Return price, currency, former price and range; unnamed amounts count if there are no named ones."""
    return _prices_of_kind(signals, AMOUNT, country) or _prices_of_kind(signals, BARE_AMOUNT, country)


def _prices_of_kind(signals: Sequence[ProductSignal], kind: int, country: str) -> dict[str, str]:
    amounts = [
        _LocatedPrice(at, part, price)
        for at, signal in enumerate(signals)
        if signal.kind == kind
        for part in _split_former_and_current(signal)
        if (price := _signal_price(part, country))
    ]
    now = [found for found in amounts if not _is_former_price(found.signal)]
    now = now or [found for found in amounts if not found.signal.is_struck]
    if not now:
        return {}
    buttons = [at for at, signal in enumerate(signals) if is_buy_button(signal)]
    best = max(now, key=lambda found: _price_weight(found, buttons))
    is_guess = is_ambiguous_dollar(best.signal.text, country)
    of_money = {"likely_currency" if is_guess else "currency": best.price.currency}
    found = {"price": best.price.amount, **of_money, **_former_price(best, amounts, signals)}
    if "old_price" not in found:
        found |= _price_range(best, now, country)
    return found


def _former_price(
    best: _LocatedPrice, amounts: Sequence[_LocatedPrice], signals: Sequence[ProductSignal]
) -> dict[str, str]:
    """Return the former price: a marked one, or one that fits a stated discount."""
    value = float(best.price.amount)
    near = [
        one
        for one in amounts
        if abs(best.position - one.position) <= NEAR_SIGNALS and float(one.price.amount) > value
    ]
    old = next((one for one in near if _is_former_price(one.signal)), None)
    if old is None:
        discounts = [
            _discount_percent(signal.text)
            for signal in signals[max(0, best.position - NEAR_SIGNALS) : best.position + NEAR_SIGNALS]
            if _has_discount(signal)
        ]
        old = next(
            (one for one in near if _matches_discount(value, float(one.price.amount), discounts)), None
        )
    return {"old_price": old.price.amount} if old else {}


def _has_discount(signal: ProductSignal) -> bool:
    return signal.kind in {DISCOUNT, AMOUNT} and "%" in signal.text


def _discount_percent(text: str) -> float:
    match = _PERCENT.search(text.partition("%")[0][-6:])
    return float(match[0].replace(",", ".")) if match else 0.0


def _matches_discount(now: float, before: float, discounts: Sequence[float]) -> bool:
    return any(
        discount and abs(100 * (1 - now / before) - discount) <= DISCOUNT_TOLERANCE_PERCENT
        for discount in discounts
    )


def _price_range(best: _LocatedPrice, now: Sequence[_LocatedPrice], country: str) -> dict[str, str]:
    """Return the price range, if there is one."""
    at, signal, price = best
    next_price = next(
        (one.price for one in now if one.position == at + 1 and one.signal.names == signal.names), price
    )
    if ends := _range_in_text(signal.text, country):
        return {"price_low": ends[0], "price_high": ends[1]}
    if signal.kind == AMOUNT and float(next_price.amount) > float(price.amount):
        return {"price_low": price.amount, "price_high": next_price.amount}
    if _FROM_TEXT.search(signal.text.partition(price.amount[:1])[0]):
        return {"price_low": price.amount}
    return {}


def _split_former_and_current(signal: ProductSignal) -> tuple[ProductSignal, ...]:
    """Split a text with former and current price: `Was £100 Now £80`."""
    before, now = _FORMER_PRICE_TEXT.search(signal.text), _CURRENT_PRICE_TEXT.search(signal.text)
    if before is None or now is None:
        return (signal,)
    at = max(before.start(), now.start())
    one, other = signal.text[:at], signal.text[at:]
    if parse_price(one) is None or parse_price(other) is None:
        return (signal,)
    return signal._replace(text=one), signal._replace(text=other)


def _price_weight(found: _LocatedPrice, buttons: Sequence[int]) -> float:
    """Return the weight of an amount: close to the heading and near a buy button is best."""
    is_near = any(abs(button - found.position) <= NEAR_SIGNALS for button in buttons[:MAX_BUTTONS])
    is_aside = (
        _SECONDARY_PRICE_TEXT.search(found.signal.text) is not None or "without-tax" in found.signal.names
    )
    return (
        (NEAR_BUTTON_WEIGHT if is_near else 0.0)
        - found.position
        - (SECONDARY_PRICE_PENALTY if is_aside else 0.0)
    )


def _signal_price(signal: ProductSignal, country: str) -> Price | None:
    if _OTHER_AMOUNT_NAMES.search(signal.names):
        return None
    bare = _DISCOUNT.sub(" ", signal.text)
    if "%" in bare or _OTHER_AMOUNT_TEXT.search(bare):
        return None
    price = parse_price(bare, country=country)
    is_sure = price is not None and (
        bare == signal.text or bool(price.currency)
    )  # beside a discount only with a currency
    if price is None or (signal.kind == BARE_AMOUNT and not price.currency and "kr" not in bare.lower()):
        return None
    return price if is_sure and float(price.amount) else None


def _is_former_price(signal: ProductSignal) -> bool:
    """Whether an amount is a former price: struck through, by its text, or by its innermost name."""
    if signal.is_struck or _FORMER_PRICE_TEXT.search(signal.text):
        return True
    old, new = (
        max((match.start() for match in form.finditer(signal.names)), default=-1)
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


MAX_PRICE_LINE_CHARS: Final = 24
"""Maximum length of a line that contains nothing but a price."""


def price_below_heading(name: str, text: str, country: str) -> dict[str, str]:
    """Return the price of the first line after the heading that contains nothing else."""
    _, found, rest = text.partition(f"\n{name}\n") if name else ("", "", "")
    for line in rest[:3_000].split("\n")[:40] if found else ():
        price = parse_price(line, country=country) if len(line) <= MAX_PRICE_LINE_CHARS else None
        is_one = price and price.currency and "%" not in line and not _OTHER_AMOUNT_TEXT.search(line)
        if price and is_one and not _FORMER_PRICE_TEXT.search(line) and float(price.amount):
            return {"price": price.amount, "currency": price.currency}
    return {}


MANY_PRICES: Final = 3


def has_many_prices(signals: Sequence[ProductSignal]) -> bool:
    """Whether itemprops contain the prices of several products."""
    return sum(signal.kind == ITEMPROP and signal.names == "price" for signal in signals) >= MANY_PRICES


def price_of_itemprops(signals: Sequence[ProductSignal]) -> dict[str, str]:
    """Return the price in itemprops outside of an item: some shops omit the element of the item."""
    values: dict[str, str] = {}
    for signal in signals:
        if signal.kind == ITEMPROP and signal.text:
            values.setdefault(signal.names, signal.text)
    if has_many_prices(signals):
        return {}
    price = parse_price(values.get("price", ""))
    found = {"currency": parse_currency_field(values.get("pricecurrency", ""))}
    if price and float(price.amount):
        found["price"] = price.amount
    return {name: value for name, value in found.items() if value}
