"""Which endings of a path are not worth a request, where the crawl spec does not say.

An ending is a hint and no more, and many a page is called after a file (`/wiki/Node.js`); so what is
refused is what nobody here reads and what is nearly always what it says. A spec that lists endings
of its own replaces the list.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Final

_REFUSED: Final = (
    # pictures
    "apng avif bmp cur eps gif heic ico jp2 jpeg jpg jxl png psd raw svg svgz tif tiff webp",
    # moving pictures and sound
    "3gp avi flv m3u8 m4v mkv mov mp4 mpeg mpg ogv vob webm wmv",
    "aac aif aiff flac m3u m4a mid midi mp3 oga ogg opus wav weba wma",
    # parts of pages
    "css less sass scss cjs js jsx mjs wasm eot otf ttf woff woff2",
    # packages and programs
    "7z bz2 cab gz iso jar lz lz4 lzma rar tar tbz tbz2 tgz txz war xz z zip zst",
    "apk bin deb dll dmg exe img ipa msi msix pkg rpm",
    # documents and data that have no reader here; PDF is left to the parser
    "djvu doc docm docx epub mobi odp ods odt ppt pptm pptx ps rtf xls xlsm xlsx",
    "avro db parquet sqlite",
)


@cache
def default_refused_endings() -> frozenset[str]:
    """Give the endings, in lower case and without their dot."""
    return frozenset(ending for line in _REFUSED for ending in line.split())


def refused_endings(wanted: Iterable[str]) -> frozenset[str]:
    """Give those of a spec, however they are spelt (`.PDF`, `pdf`), or the default ones."""
    return frozenset(ending.strip().lstrip(".").lower() for ending in wanted) or default_refused_endings()
