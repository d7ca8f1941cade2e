"""Terms of shops in many languages: buying, stock, identifiers, brands, ratings.

Recognizes the availability that a text states, and the identifier or brand after a label. Knows no page.
"""

from __future__ import annotations

import re
from typing import Final

from strider.contracts.generated.enums import Availability

MAX_IDENTIFIER_CHARS: Final = 40
MAX_STATE_CHARS: Final = 60
BEST_RATING: Final = 5.0


def _any_of(*words: str) -> str:
    return "|".join(words)


BUY_PHRASES: Final = re.compile(
    _any_of(
        r"\b(?:add(?: item)? to (?:my |your |the )?(?:shopping )?(?:cart|bag|basket|trolley|order|tote)",
        r"buy (?:it )?now|order now|add for (?=[^\w\s]?\d)|(?:zum|in) (?:den )?warenkorb|ajouter au caddie",
        r"pre-?order(?: now)?$|(?:jetzt )?vorbestellen|précommander|reservar ahora|hozzáadás a kosárhoz",
        r"prida[tť] do ko[šs][íi]ka|přidat do košíku|vlo[žz]i[tť] do ko[šs][íi]k[ua]|do ko[šs][íi]k[ua]",
        r"dodaj do koszyka|adaug[ăa] în co[șs]|în co[șs]|u košaricu|v košarico|hemen al|sat\u0131n al",
        r"lisää ostoskoriin|osta nyt|køb|kjøp|köp(?: nu)?$|handla|afegir a la cistella|agregar a la bolsa",
        r"αγορά|προσθήκη στο καλάθι|купити|до кошика|masukkan keranjang|thêm vào giỏ|הוסף לסל|أضف إلى السلة",
        r"purchase now",
        r"in den (?:warenkorb|einkaufswagen)|jetzt kaufen|ajouter au panier|acheter|aggiungi al carrello",
        r"acquista",
        r"a[ñn]adir (?:al carrito|a la cesta)|agregar al carrito|comprar|adicionar ao carrinho",
        r"in (?:het )?winkelwagen|in winkelmandje|l[äa]gg (?:i|till i) varukorg|k[øo]b nu|l[æa]g i kurv",
        r"legg i handlekurv|do koszyka|kup teraz|do ko[šs][íi]ku|kos[áa]rba|sepete ekle|в корзину|купить)",
        r"カートに(?:入れる|追加)|カゴに入れる|今すぐ(?:購入|買う)|購入する"
        r"|加入购物[车車]|加入購物車|立即购买|立即購買"
        r"|장바구니|바로 ?구매",
        r"구매하기|ซื้อ(?:เลย|สินค้า)|ใส่ตะกร้า",
    ),
    re.IGNORECASE,
)

_IN_STOCK_TERMS: Final = _any_of(
    r"in[ -]?stock|instock|available(?: now| for| to|$)|availability: available|auf lager",
    r"(?:sofort )?lieferbar|vorrätig|verfügbar|en stock|disponible|disponibil[ei]|disponível",
    r"em (?:estoque|stock)",
    r"in magazzino|op voorraad|leverbaar|i lager|på lager|dostępny|w magazynie|skladem|na skladě",
    r"raktáron|készleten",
    r"stokta|varastossa|în stoc|na (?:zalihi|stanju|skladištu)|noliktavā|saadaval|tersedia|còn hàng|متوفر",
    r"в наличии|на складе|в наявності|διαθέσιμο|σε απόθεμα|på lager|disponibles?|immediatamente disponibile",
)
_NEGATIONS: Final = _any_of(
    r"not|no longer|never|nicht|kein|derzeit nicht|non|pas|no|não|sin|sem|niet|ikke|inte|ej|slut|nie|není",
    r"nincs|ei|nu este|nije|нет|не|немає|μη|tidak|غير",
)
_STATE_TERMS: Final = {
    Availability.OUT_OF_STOCK: _any_of(
        r"(?:stock|lagerbestand|bestand|voorraad|lager|stan)\s?:?\s?0(?![\d.,])|out[ -]?of[ -]?stock"
        r"|sold[ -]?out|not (?:currently )?available|currently unavailable|unavailable",
        r"no longer available|0 in stock|notify me(?: when)?|email me when|get notified|back in stock",
        r"ausverkauft|vergriffen|rupture|épuisé|indisponible|agotado|indisponibil|stoc epuizat",
        r"sin (?:stock|existencias)|esgotado|indisponível|fora de estoque|sem estoque|esaurito|uitverkocht",
        r"slutsåld|udsolgt|utsolgt|wyprzedan[ey]|niedostępny|brak w magazynie|vyprodáno|elfogyott|tükendi",
        r"stokta yok|tükenmi[şs]tir|не доступен|нет на складе|temporarily out|ikke tilgjengelig"
        r"|momentan nicht",
        r"derzeit ausverkauft|non en stock|plus disponible|waitlist|(?:сообщить|уведомить) \u043e поступлении"
        r"|me prévenir|m['\u2019]alerter|avísame|avise-me|avisami|meldung bei|benachrichtigen sie mich"
        r"|benachrichtigt werden|powiadom"
        r"|hlídat|stoc epuizat|распродано|loppu|ei varastossa|εξαντλ|habis|hết hàng|نفذ",
        rf"(?:{_NEGATIONS}) (?:(?:currently|mehr|auf|est|è|está) )?(?:{_IN_STOCK_TERMS})",
    ),
    Availability.PREORDER: _any_of(
        r"pre-?order|vorbestell|(?:en )?précommand|reserva anticipada|preventa|preordine|pré-venda",
        r"przedsprzedaż|предзаказ|erscheint am|reserver nå|förbeställ|pré-encomenda|předobjedn",
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
        r"(?:stock|lagerbestand|bestand|voorraad)\s?:?\s?[1-9]\d*",
        _IN_STOCK_TERMS,
        r"ready to ship|ships (?:in|within|today|now)|usually ships|\d+ (?:in stock|available)",
        r"disponibilità immediata|spedizione immediata|lieferzeit:? (?:ca\.? )?\d",
    ),
}
"""In the order of matching: out-of-stock phrases contain the in-stock ones."""

_UNSPACED_STATE_TERMS: Final = {
    Availability.OUT_OF_STOCK: r"在庫切れ|品切れ|入荷待ち|无货|無貨|已售完|補貨中|일시품절"
    r"|在庫なし|売り切れ|缺货|缺貨|售罄|품절|สินค้าหมด",
    Availability.PREORDER: r"予約受付|预售|預購|예약",
    Availability.IN_STOCK: r"在庫あり|有货|有貨|现货|現貨|재고 있음|มีสินค้า",
}
"""Terms in scripts without spaces between words."""

_STATE_PATTERNS: Final = tuple(
    (
        state.value,
        re.compile(
            rf"(?<!\w)(?:{words})"
            + (f"|{_UNSPACED_STATE_TERMS[state]}" if state in _UNSPACED_STATE_TERMS else ""),
            re.IGNORECASE,
        ),
    )
    for state, words in _STATE_TERMS.items()
)

_NUMBER_WORD: Final = r"(?:no|nr|num(?:ber|mer)?|code|id|#)"
CODE_LABEL: Final = _any_of(
    rf"(?:product |item |web )?sku(?: {_NUMBER_WORD})?|item[ .]?{_NUMBER_WORD}|web {_NUMBER_WORD}",
    rf"art(?:ikel|icle|ículo|icolo|igo)?[.-]*[ ]?{_NUMBER_WORD}|artikelnr|artikkelnr|artnr",
    rf"prod(?:uct|ukt)[ -]?{_NUMBER_WORD}|bestell-?n(?:r|ummer)|réf(?:érence)?(?: (?:du )?produit)?",
    r"referencia|referência|referenz|ref|riferimento|código(?: del? produ[ct]to)?|cód|codi",
    r"codice(?: (?:articolo|prodotto))?|cod(?: produs)?|stock (?:code|number|#)|stock keeping unit",
    rf"style(?: (?:no|number|code|#))|catalog(?:ue)?(?: {_NUMBER_WORD})|order (?:code|number|no)",
    r"vare(?:nummer|nr)|tuotenumero|tuotekoodi|kod produktu|symbol|nr katalogowy|kód(?: (?:produktu|zboží"
    r"|tovaru))?",
    r"cikkszám|termékkód|šifra|(?:ürün|stok) kodu|stok no|артикул|арт|код товара|код|κωδικός(?: προϊόντος)?",
    r"品番|商品番号|商品コード|货号|貨號|商品编号|商品編號"
    r"|품번|상품코드|상품번호|asin|mã sản phẩm|\u05de\u05e7\u05f4?\u05d8",
)
"""Labels of the identifier by which a shop sells a product."""

MODEL_LABEL: Final = _any_of(
    rf"item model {_NUMBER_WORD}|model(?: {_NUMBER_WORD})?|modell(?:nummer|-nr)?|modèle|modelo|part (?:no"
    rf"|number|#)|型番|型号|型號",
)
"""Labels of the identifier of the manufacturer; some shops have no other."""

SKU_LABEL: Final = _any_of(CODE_LABEL, MODEL_LABEL)
MPN_LABEL: Final = _any_of(
    r"mpn|manufacturer(?:['\u2019]?s)? (?:part |product |item |model )?(?:no|number|#|code|reference)"
    r"|mfr\.? ?(?:part )?(?:no|number|#)?",
    r"mfg\.? ?(?:part )?(?:no|number|#)?|part (?:no|number|#)|model (?:no|number|#)|item model number"
    r"|oem(?: (?:no|number))?",
    r"hersteller-?(?:artikel)?-?(?:nummer|nr)|herst\.?-?(?:art\.?)?-?nr|référence (?:du )?fabricant"
    r"|réf\.? fabricant",
    r"referencia (?:del )?fabricante|codice (?:del )?produttore|kod producenta|kód výrobce|fabrikantcode"
    r"|fabrieksnummer",
    r"código (?:do )?fabricante|gyártói cikkszám|код производителя|メーカー品番|型番",
)
GTIN_LABEL: Final = _any_of(
    r"(?:code |codice |código |kod )?(?:gtin|ean)(?:[ -]?\d+)?(?:[ -]?(?:code|nummer|number|no"
    r"|nr))?(?: ?/ ?(?:gtin|ean|upc))?",
    r"upc(?:-?a|[ -]?code| number)?|isbn(?:-?1[03])?|bar-?code|code-barres?|código de barras"
    r"|codice a barre|strichcode",
    r"streckkod|штрих-?код|jan(?:コード)?|条形?码|바코드",
)
BRAND_LABEL: Final = _any_of(
    r"brand(?: name)?|marken?(?:name)?|hersteller(?:name)?|marque|marca|merk|manufacturer|made by"
    r"|fabricante?",
    r"produttore|producent|výrobce|značka|varum[äa]rke|m[æe]rke|merke|tuotemerkki|valmistaja|бренд"
    r"|производитель",
    r"марка|торгова марка|виробник|marka|márka|gyártó|proizvođač|producător|κατασκευαστής|ブランド|メーカー"
    r"|品牌",
    r"브랜드|제조사|thương hiệu|designer",
)

_RATING: Final = re.compile(
    r"(?<![\d.,])(\d{1,2}(?:[.,]\d{1,2})?)\s*(?:stars?\s*)?"
    r"(?:(?:out of|/|of|von|sur|de|su|av|af|z|van|из|üzerinden)\s*(5|10)(?![\d.,]\d)\b|rating|stars? on|\(\d"
    r")|(?<![\d.,])(\d[.,]\d)(?=\s+\(?\d[\d.,]*\)?\s*(?:ratings|reviews|bewertungen|avis))",
    re.IGNORECASE,
)
_REVIEW_COUNT: Final = re.compile(
    r"(?<![\d.,])(?<!of )(?<!/)(?<!/ )(?<!von )(\d{1,3}(?:[., ]\d{3}){1,2}|\d{1,9})\)?\s*(?:customer "
    r"|verified |global |product )?"
    r"(?:reviews?|ratings?|votes?|(?:kunden)?bewertung(?:en)?|rezension(?:en)?|avis|opiniones|opinión"
    r"|valoraci"
    r"|recensioni|recension(?:er)?|beoordeling(?:en)?|avalia|opini[ie]|omdömen?|anmeldelser?|arvostelu"
    r"|értékelés"
    r"|hodnocení|yorum|değerlendirme|отзыв|відгук|κριτικ|件のレビュー|レビュー"
    r"|条评|則評|개의? ?(?:리뷰|상품평|후기))"
    r"|(?:reviews|ratings|bewertungen|avis(?: clients?)?|opiniones|recensioni|beoordelingen|отзывы)\s*"
    r"(?:\(|:)\s*(\d{1,3}(?:[., ]\d{3}){1,2}|\d{1,9})\s*\)?",
    re.IGNORECASE,
)

_IDENTIFIER: Final = re.compile(r"[^\W_][\w./+-]{1,39}")
_IDENTIFIER_LABEL: Final = re.compile(
    rf"^\W*(?:{SKU_LABEL}|{GTIN_LABEL})(?![^\W\d_])[\s.:#°º\uff1a]*", re.IGNORECASE
)
MAX_LINES: Final = 2_000


def parse_availability(text: str) -> str:
    """Return the availability that a short text states; empty if none."""
    if len(text) > MAX_STATE_CHARS and not text.startswith("http"):
        return ""
    normalized = text.rpartition("/")[2] if text.startswith("http") else text
    return next((state for state, words in _STATE_PATTERNS if words.search(normalized)), "")


def parse_rating(text: str) -> float | None:
    """Return the rating in a text on a scale of five; None if there is none."""
    match = _RATING.search(text)
    if match is None:
        return None
    value, best = float((match[1] or match[3]).replace(",", ".")), float(match[2] or BEST_RATING)
    return round(value * BEST_RATING / best, 2) if value <= best else None


def parse_review_count(text: str) -> int | None:
    """Return the number of reviews in a text; None if there is none."""
    match = next((one for one in _REVIEW_COUNT.finditer(text) if "review" in one[0].lower()), None)
    match = match or _REVIEW_COUNT.search(text)
    return int(re.sub(r"\D", "", match[1] or match[2])) if match else None


def find_labelled_value(label: str, text: str) -> str:
    """Return the value after a label, in its line or the next one; empty if there is none."""
    match = re.search(
        rf"^\W{{0,3}}(?:{label})(?![^\W\d_])\.?[ ]?(?:[:\uff1a#°º]|\n)[ :\uff1a#\n]{{0,3}}([^\n]{{1,60}})",
        text[:200_000],
        re.IGNORECASE | re.MULTILINE,
    )
    return match[1].strip() if match else ""


def parse_identifier(text: str) -> str:
    """Return the product identifier in a text, with or without a label; empty if there is none."""
    bare = _IDENTIFIER_LABEL.sub("", text.strip())
    match = _IDENTIFIER.match(bare)
    if match is None or not any(char.isdigit() for char in match[0]):
        return ""
    return match[0].rstrip(".-/")[:MAX_IDENTIFIER_CHARS]


_LETTER_CODE: Final = re.compile(r"[A-Z][A-Z._/-]{1,19}")


def parse_code(text: str) -> str:
    """Return the code in an element that is named as an identifier; may consist of letters only."""
    number = parse_identifier(text)
    bare = _IDENTIFIER_LABEL.sub("", text.strip())
    is_code = _LETTER_CODE.fullmatch(bare) is not None and bare.upper() not in {"N/A", "NA", "SKU", "NONE"}
    return number or (bare if is_code else "")


_GTIN: Final = re.compile(r"(?<!\w)\d(?:[ -]?\d){7,13}(?!\w)")


def parse_gtin(text: str) -> str:
    """Return the GTIN at the start of a text, if its check digit is valid; empty otherwise."""
    match = _GTIN.search(text)
    digits = "".join(filter(str.isdigit, match[0])) if match else ""
    return digits if digits and is_gtin(digits) else ""


ISBN_DIGITS: Final = 10


MIN_GTIN_DIGITS: Final = 8


def is_gtin(digits: str) -> bool:
    """Whether digits are a GTIN, EAN, UPC or ISBN, by length and check digit."""
    if len(digits) == ISBN_DIGITS:
        return sum((10 - at) * int(digit) for at, digit in enumerate(digits)) % 11 == 0
    padded = digits.zfill(14)
    if not MIN_GTIN_DIGITS <= len(digits) <= len(padded) or not int(digits):
        return False
    weighed = sum(int(digit) * (3 if at % 2 == 0 else 1) for at, digit in enumerate(padded))
    return weighed % 10 == 0
