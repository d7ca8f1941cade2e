"""File extensions that are not fetched unless a crawl spec lists its own.

An extension is only a hint, and many a page is named like a file (`/wiki/Node.js`); so only types are refused
that no parser reads and that nearly always are what they claim. The list of a spec replaces this one.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Final

_REFUSED: Final = (
    # images
    "apng avif bmp cur eps gif heic ico jp2 jpeg jpg jxl png psd raw svg svgz tif tiff webp",
    # video and audio
    "3gp avi flv m3u8 m4v mkv mov mp4 mpeg mpg ogv vob webm wmv",
    "aac aif aiff flac m3u m4a mid midi mp3 oga ogg opus wav weba wma",
    # parts of pages
    "css less sass scss cjs js jsx mjs wasm eot otf ttf woff woff2",
    # archives and programs
    "7z bz2 cab gz iso jar lz lz4 lzma rar tar tbz tbz2 tgz txz war xz z zip zst",
    "apk bin deb dll dmg exe img ipa msi msix pkg rpm",
    # documents and data without a parser; PDF is left to the parser
    "djvu doc docm docx epub mobi odp ods odt ppt pptm pptx ps rtf xls xlsm xlsx",
    "avro db parquet sqlite",
)


@cache
def default_refused_endings() -> frozenset[str]:
    """Return the default extensions, in lower case and without their dot."""
    return frozenset(ending for line in _REFUSED for ending in line.split())


def refused_endings(wanted: Iterable[str]) -> frozenset[str]:
    """Return the extensions of a spec, however spelt (`.PDF`, `pdf`), or the default ones."""
    return frozenset(ending.strip().lstrip(".").lower() for ending in wanted) or default_refused_endings()
