"""Phrases in many languages by which a list states that it has no results.

Vocabulary only; knows no page.
"""

# ruff: noqa: RUF001  # letters of other scripts are what this is about

from __future__ import annotations

import re
from typing import Final

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
