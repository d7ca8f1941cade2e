"""Kind of file that a URL probably leads to, by its file extension.

An extension is only a hint: a server may send anything. So an unknown extension means a page, and all that is
decided here is which links are not worth a request.
"""

from __future__ import annotations

from typing import Final

from .wire_url import path_start

PAGE_KIND: Final = "page"

_EXTENSIONS: Final = {
    "image": "apng avif bmp cur eps gif heic ico jp2 jpeg jpg jxl png psd raw svg svgz tif tiff webp",
    "video": "3gp avi flv m3u8 m4v mkv mov mp4 mpeg mpg ogv ts vob webm wmv",
    "audio": "aac aif aiff flac m3u m4a mid midi mp3 oga ogg opus wav weba wma",
    "style": "css less sass scss",
    "script": "cjs js jsx map mjs wasm",
    "font": "eot otf ttf woff woff2",
    "archive": "7z bz2 cab gz iso jar lz lz4 lzma rar tar tbz tbz2 tgz txz war xz z zip zst",
    "program": "apk app bin com deb dll dmg exe img ipa msi msix pkg rpm so",
    "document": "djvu doc docm docx epub key mobi odp ods odt pages pdf ppt pptm pptx ps rtf xls xlsm xlsx",
    "data": "avro csv db dat geojson json jsonl kml kmz log ndjson parquet pb sql sqlite tsv yaml yml",
    "feed": "atom rdf rss xml",
}
"""Kind → extensions. `com` means a program here because it is looked up in the path, never in the host."""

FILE_KINDS: Final = (PAGE_KIND, *_EXTENSIONS)

_KIND_OF: Final = {ending: kind for kind, endings in _EXTENSIONS.items() for ending in endings.split()}

_MAX_EXTENSION_CHARACTERS: Final = max(map(len, _KIND_OF))


def file_extension(url: str) -> str:
    """Return the lower-case extension of the path's last segment, without its dot, or an empty text."""
    path = url[path_start(url) :].partition("?")[0]
    name, dot, last = path.rpartition("/")[2].rpartition(".")
    return last.lower() if dot and name and len(last) <= _MAX_EXTENSION_CHARACTERS and last.isalnum() else ""


def file_kind(url: str) -> str:
    """Return the kind of file that a wire URL probably leads to: one of FILE_KINDS."""
    return _KIND_OF.get(file_extension(url), PAGE_KIND)
