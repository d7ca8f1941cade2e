"""Terms of lists in many languages: next, previous and more pages, no results.

Vocabulary only; knows no page.
"""

# ruff: noqa: RUF001  # letters of other scripts are what this is about
from __future__ import annotations

import re
from typing import Final

_PAGE: Final = (
    "page|posts?|entries|articles?|results|items|seite|página|pàgina|pagina|страница|сторінка|strona|stranica|"
    "stránka|stranka|sida|side|sivu|oldal|sayfa|σελίδα|trang|halaman|الصفحة|עמוד|หน้า"
    "|puslapis|lapa|leht|stran|síða|orria|orrialdea|pahina|صفحه|صفحہ|पृष्ठ|পৃষ্ঠা"
)
_PAGES: Final = rf"(?: (?:\d{{1,4}} )?(?:{_PAGE}))*"
_NEXT_TERMS: Final = (
    r"next|older|suivante?s?|weiter|nächste[rs]?|siguientes?|próxim[ao]s?|seguintes?|següent|avanti|successiv[aoe]"
    r"|volgende|nästa|næste|neste|seuraava|επόμεν[ηο]|далее|следующ(?:ая|ие)|вперед|вперёд|наступн[аі]|далі"
    r"|следваща|następn[aey]|dalej|další|následující|ďalši[ae]|ďalej|nasledujúca|sljedeća|sledeća|dalje"
    r"|következő|următo(?:area|rul|arele)|sonraki|ileri|berikutnya|selanjutnya|tiếp(?: theo)?|trang sau"
    r"|următoarea?|järgmine|nākam(?:ā|ais)|kitas|toliau|naslednj[aie]|næsta|hurrengoa?|seterusnya|susunod"
    r"|अगल[ाे]|পরবর্তী|بعدی|اگلا|შემდეგი|հաջորդ|келесі|keyingi"
    r"|下一页|下一頁|次へ|次の(?:ページ|記事|\d{1,3}件)|다음(?: 페이지)?|التالي[ة]?|הבא[ה]?|(?:หน้า)?ถัดไป"
)
_PREVIOUS_TERMS: Final = (
    r"prev(?:ious)?|newer|précédente?s?|zurück|vorherige[rs]?|anterior(?:es)?|precedent[ei]?|vorige|föregående"
    r"|forrige|edellinen|προηγούμεν[ηο]|назад|предыдущ(?:ая|ие)|попередн[яі]|предишна|poprzedni[ae]?"
    r"|předchozí|predchádzajúc[ae]|prethodna|előző|anterioar[ăa]|önceki|sebelumnya|trang trước"
    r"|eelmine|iepriekšēj(?:ā|ais)|ankstesnis|prejšnj[aie]|fyrri|aurrekoa|nakaraan"
    r"|पिछल[ाे]|পূর্ববর্তী|قبلی|پچھلا|წინა|նախորդ|алдыңғы|oldingi"
    r"|上一页|上一頁|前へ|前の(?:ページ|記事|\d{1,3}件)|이전(?: 페이지)?|السابق[ة]?|הקודם|(?:หน้า)?ก่อนหน้า"
)
_LEAD: Final = rf"(?:go to (?:the )?)?(?:(?:{_PAGE}) )?"
NEXT: Final = re.compile(rf"{_LEAD}(?:{_NEXT_TERMS}){_PAGES}", re.IGNORECASE)
PREVIOUS: Final = re.compile(rf"{_LEAD}(?:{_PREVIOUS_TERMS}){_PAGES}", re.IGNORECASE)
MORE: Final = re.compile(
    r"(?:load|show|view|see) (?:\d{1,3} )?more(?: (?:\w+ ?){1,2})?"
    r"|more (?:results|posts|articles|items|products|stories)"
    r"|mehr (?:laden|anzeigen)|weitere (?:laden|anzeigen|ergebnisse|artikel)|(?:voir|afficher|charger) plus"
    r"|(?:ver|mostrar|cargar|carregar) m[áa]is?|(?:carica|mostra) altr[oi]|meer (?:laden|tonen|weergeven)"
    r"|показать (?:ещё|еще)|загрузить (?:ещё|еще)|pokaż więcej|załaduj więcej|visa fler|ladda fler"
    r"|vise? flere|näytä lisää|načíst další|zobrazit další"
    r"|daha fazla (?:göster|yükle)|加载更多|查看更多|もっと見る|더 ?보기",
    re.IGNORECASE,
)
"""Counts only if the link leads to more of the same list."""


_ITEM_NOUNS: Final = (
    "results|matches|items|products|posts|entries|articles|listings|records|topics|threads|jobs|hits"
)
NO_RESULTS: Final = re.compile(
    rf"\b(?:no (?:search |matching |suitable )?(?:{_ITEM_NOUNS})(?: or \w+)?(?: were| met)?"
    r"(?: found| matched| available)?"
    r"(?= *(?:$|[.!,:]|for|found|in |that|the|match|to (?:show|display)))"
    r"|nothing (?:was )?found|nothing matched (?:your|the)|contains no (?:pages|items|products|posts)"
    r"|0 (?:results|items|products|ergebnisse|treffer|résultats?|resultados|risultati|resultaten)"
    r"|showing 0 of 0|did not match any"
    r"|could(?:n['\u2019]t| not) find any(?:thing)?|keine (?:ergebnisse|treffer|produkte|artikel|einträge)"
    r"|(?:leider|es wurde) nichts gefunden|aucune (?:annonce|correspondance)|no se han encontrado"
    r"|no hay resultados"
    r"|não foram encontrad[oa]s|sem resultados|non sono stati trovati|non ha prodotto (?:alcun )?risultat[oi]"
    r"|nu s-au găsit|nema rezultata|ni bilo najdeno|ni zadetkov|tidak ada hasil|(?:ürün|kayıt) bulunamadı"
    r"|(?:товар[ыа]?|объявлени[яй]|результат[ыа]) не найден[ыо]|(?:результатов|товаров) нет|нет результатов"
    r"|aucun (?:résultat|produit|article)|sin resultados|no se (?:encontraron|encontró)|ningún resultado"
    r"|nenhum (?:resultado|produto)|nessun (?:risultato|prodotto)|geen (?:resultaten|producten)"
    r"|ничего не найдено|нічого не знайдено|brak wyników|nie znaleziono|inga (?:träffar|resultat|produkter)"
    r"|ingen (?:resultater|treff|produkter)|ei (?:tuloksia|hakutuloksia)|sonuç bulunamad\u0131|nincs találat"
    r"|žádné výsledky|nebyl[yo]? nalezen[yo]?|niciun rezultat|δεν βρέθηκαν|không tìm thấy|tidak ditemukan"
    r"|لا توجد نتائج|לא נמצאו)(?!\w)"
    r"|没有找到|沒有找到|没有结果|未找到|没有符合|沒有符合|找不到(?:结果|結果|符合|相关|相關)"
    r"|(?<!\d)0 ?件|該当する.{0,12}ありません|検索結果はありません|見つかりませんでした|검색 ?결과가 없"
    r"|ไม่พบ(?:ผลลัพธ์|สินค้า|รายการ)",
    re.IGNORECASE | re.MULTILINE,
)
