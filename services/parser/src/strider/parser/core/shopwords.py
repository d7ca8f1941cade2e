"""The words of shops, in the languages that most of them speak: for buying, for stock, for numbers.

Says which state a text names, and which number or brand a label announces. Knows no page.
"""

from __future__ import annotations

import re
from typing import Final

from strider.contracts.generated.words import Availability

MAX_NUMBER_CHARS: Final = 40
MAX_STATE_CHARS: Final = 60
BEST_RATING: Final = 5.0


def _any_of(*words: str) -> str:
    return "|".join(words)


BUY: Final = re.compile(
    _any_of(
        r"\b(?:add(?: item)? to (?:my )?(?:cart|bag|basket|trolley|order)|buy (?:it )?now|order now",
        r"purchase now",
        r"in den (?:warenkorb|einkaufswagen)|jetzt kaufen|ajouter au panier|acheter|aggiungi al carrello",
        r"acquista",
        r"a[ñn]adir (?:al carrito|a la cesta)|agregar al carrito|comprar|adicionar ao carrinho",
        r"in (?:het )?winkelwagen|in winkelmandje|l[äa]gg (?:i|till i) varukorg|k[øo]b nu|l[æa]g i kurv",
        r"legg i handlekurv|do koszyka|kup teraz|do ko[šs][íi]ku|kos[áa]rba|sepete ekle|в корзину|купить)",
        r"カートに入れる|加入购物车|장바구니",
    ),
    re.IGNORECASE,
)

_STOCKED: Final = _any_of(
    r"in[ -]?stock|instock|available(?: now| for| to|$)|availability: available|auf lager",
    r"(?:sofort )?lieferbar|vorrätig|verfügbar|en stock|disponible|disponibil[ei]|disponível",
    r"em (?:estoque|stock)",
    r"in magazzino|op voorraad|leverbaar|i lager|på lager|dostępny|w magazynie|skladem|na skladě",
    r"raktáron|készleten",
    r"stokta|varastossa|în stoc|na (?:zalihi|stanju|skladištu)|noliktavā|saadaval|tersedia|còn hàng|متوفر",
    r"в наличии|на складе|в наявності|διαθέσιμο|σε απόθεμα",
)
_NOT: Final = _any_of(
    r"not|no longer|never|nicht|kein|derzeit nicht|non|pas|no|não|sin|sem|niet|ikke|inte|ej|slut|nie|není",
    r"nincs|ei|nu este|nije|нет|не|немає|μη|tidak|غير",
)
_STATES: Final = {
    Availability.OUT_OF_STOCK: _any_of(
        r"out[ -]?of[ -]?stock|sold[ -]?out|not (?:currently )?available|currently unavailable|unavailable",
        r"no longer available|0 in stock|notify me(?: when)?|email me when|get notified|back in stock",
        r"ausverkauft|vergriffen|rupture|épuisé|indisponible|agotado|indisponibil|stoc epuizat",
        r"sin (?:stock|existencias)|esgotado|indisponível|fora de estoque|sem estoque|esaurito|uitverkocht",
        r"slutsåld|udsolgt|utsolgt|wyprzedan[ey]|niedostępny|brak w magazynie|vyprodáno|elfogyott|tükendi",
        r"stokta yok|распродано|loppu|ei varastossa|εξαντλ|habis|hết hàng|نفذ",
        rf"(?:{_NOT}) (?:(?:currently|mehr|auf|est|è|está) )?(?:{_STOCKED})",
    ),
    Availability.PREORDER: _any_of(
        r"pre-?order|vorbestell|(?:en )?précommand|reserva anticipada|preventa|preordine|pré-venda",
        r"przedsprzedaż|предзаказ",
    ),
    Availability.BACKORDER: _any_of(
        r"(?:available on )?back-?order|nachbestell|sur commande|bajo pedido|su ordinazione|op bestelling",
        r"под заказ|na zamówienie",
    ),
    Availability.DISCONTINUED: r"discontinued|nicht mehr (?:lieferbar|erhältlich)",
    Availability.LIMITED: _any_of(
        r"only \d+ (?:left|in stock|remaining)|low stock|few left|nur noch \d+|plus que \d+"
    ),
    Availability.IN_STOCK: _any_of(
        rf"{_STOCKED}|ready to ship|ships (?:in|within|today|now)|usually ships|\d+ (?:in stock|available)",
        r"disponibilità immediata|spedizione immediata|lieferzeit:? (?:ca\.? )?\d",
    ),
}
"""In the order in which they are looked for: what is not there is said with the word for being there."""

_UNSPACED: Final = {
    Availability.OUT_OF_STOCK: r"在庫切れ|在庫なし|売り切れ|缺货|缺貨|售罄|품절|สินค้าหมด",
    Availability.PREORDER: r"予約受付|预售|預購|예약",
    Availability.IN_STOCK: r"在庫あり|有货|有貨|现货|現貨|재고 있음|มีสินค้า",
}
"""In scripts that put no space between words."""

_STATE_OF: Final = tuple(
    (
        state.value,
        re.compile(
            rf"(?<!\w)(?:{words})" + (f"|{_UNSPACED[state]}" if state in _UNSPACED else ""), re.IGNORECASE
        ),
    )
    for state, words in _STATES.items()
)

_NUMBER_WORD: Final = r"(?:no|nr|num(?:ber|mer)?|code|id|#)"
SKU_LABEL: Final = _any_of(
    rf"(?:product |item )?sku|item[ .]?(?:model )?{_NUMBER_WORD}|art(?:ikel|icle)?[.-]*[ ]?{_NUMBER_WORD}",
    rf"prod(?:uct|ukt)[ -]?{_NUMBER_WORD}|bestell-?n(?:r|ummer)|réf(?:érence)?|referencia|ref",
    r"código|cód|codice(?: (?:articolo|prodotto))?|cod|stock (?:code|number|#)",
    rf"style(?: (?:no|number|code|#))|catalog(?: {_NUMBER_WORD})|model(?: {_NUMBER_WORD})?|modell",
    r"modèle|part (?:no|number|#)",
    r"vare(?:nummer|nr)|tuotenumero|kod produktu|symbol|nr katalogowy|kód(?: produktu)?|cikkszám",
    r"(?:ürün|stok) kodu|артикул|арт|код товара|品番|型番|型号|商品番号|货号|貨號|품번|상품코드",
)
MPN_LABEL: Final = _any_of(
    r"mpn|manufacturer(?:'s)? (?:part )?(?:no|number|#|code)|mfr\.? ?(?:part )?(?:no|number|#)?",
    r"part (?:no|number|#)|model (?:no|number|#)",
)
GTIN_LABEL: Final = r"gtin(?:-?\d+)?|ean(?:-?13| code)?|upc(?:-?a| code)?|isbn(?:-?1[03])?|barcode"
BRAND_LABEL: Final = r"brand|marke|hersteller|marque|marca|merk|manufacturer"

_RATED: Final = re.compile(
    r"(\d(?:[.,]\d{1,2})?)\s*(?:stars?\s*)?"
    r"(?:(?:out of|/|of|von|sur|de|su)\s*(5|10)\b|rating|stars? on|\(\d)",
    re.IGNORECASE,
)
_REVIEWS: Final = re.compile(
    r"(?<![\d.,])(\d{1,3}(?:[., ]\d{3}){1,2}|\d{1,9})\)?\s*(?:customer |verified |global |product )?"
    r"(?:reviews?|ratings?|votes?|bewertungen|avis|opiniones|recensioni|beoordelingen|avalia|отзыв)",
    re.IGNORECASE,
)

_NUMBER: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/+-]{1,39}")
_LEAD: Final = re.compile(rf"^\W*(?:{SKU_LABEL}|{GTIN_LABEL})(?![A-Za-z])[\s.:#°º]*", re.IGNORECASE)
MAX_LINES: Final = 2_000


def state_of(text: str) -> str:
    """Give the state that a short text names; empty for none."""
    if len(text) > MAX_STATE_CHARS and not text.startswith("http"):
        return ""
    wanted = text.rpartition("/")[2] if text.startswith("http") else text
    return next((state for state, words in _STATE_OF if words.search(wanted)), "")


def rating_in(text: str) -> float | None:
    """Give the rating that a text names, of five; None for none."""
    match = _RATED.search(text)
    if match is None:
        return None
    value, best = float(match[1].replace(",", ".")), float(match[2] or BEST_RATING)
    return round(value * BEST_RATING / best, 2) if value <= best else None


def reviews_in(text: str) -> int | None:
    """Give how many reviews a text counts; None for none."""
    match = _REVIEWS.search(text)
    return int(re.sub(r"\D", "", match[1])) if match else None


def labelled(label: str, text: str) -> str:
    """Give what stands behind a label, in its line or in the next one; empty where nothing does."""
    match = re.search(
        rf"^\W{{0,3}}(?:{label})(?![^\W\d_])\.?[ ]?(?:[:\uff1a#°º]|\n)[ :\uff1a#\n]{{0,3}}([^\n]{{1,60}})",
        text[:200_000],
        re.IGNORECASE | re.MULTILINE,
    )
    return match[1].strip() if match else ""


def number_in(text: str) -> str:
    """Give the number of a thing that a text says, with or without a label before it; empty for none."""
    bare = _LEAD.sub("", text.strip())
    match = _NUMBER.match(bare)
    if match is None or not any(char.isdigit() for char in match[0]):
        return ""
    return match[0].rstrip(".-/")[:MAX_NUMBER_CHARS]


def is_gtin(digits: str) -> bool:
    """Say whether digits are a GTIN, EAN, UPC or ISBN: of their length, and with their check digit."""
    if len(digits) == ISBN_DIGITS:
        return sum((10 - at) * int(digit) for at, digit in enumerate(digits)) % 11 == 0
    padded = digits.zfill(14)
    if not LEAST_GTIN_DIGITS <= len(digits) <= len(padded) or not int(digits):
        return False
    weighed = sum(int(digit) * (3 if at % 2 == 0 else 1) for at, digit in enumerate(padded))
    return weighed % 10 == 0


ISBN_DIGITS: Final = 10
LEAST_GTIN_DIGITS: Final = 8
