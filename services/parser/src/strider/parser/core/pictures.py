"""Which pictures does a product have, and what is each of them?

Takes the addresses that the page names for machines, and the pictures that it shows. What is named comes
first; a gallery adds to it. What is shown tells texts, sizes, and which are small forms
of others.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from strider.contracts.generated.enums import ImageKind

from .metadata import resolve
from .shopsigns import Picture

MAX_IMAGES: Final = 50
LEAST_PIXELS: Final = 50
LEAST_ALT_CHARS: Final = 8
"""A shorter text may be a part of any name."""

_GALLERY: Final = re.compile(
    r"gallery|product-?(?:image|photo|media|img)|main-?image|zoom|pdp-?image|image-?viewer|imgtagwrapper"
)
_THUMBNAIL: Final = re.compile(r"thumb|swatch|alt-?images")
_SIZE: Final = re.compile(
    r"[._-](?:\d{2,4}x\d{0,4}|x\d{2,4}|small|medium|large|thumb|sq\d+|grande|master)(?=[._-]|$)"
)


class ToldImage(NamedTuple):
    """What the page says for machines of one picture."""

    width: int = 0
    height: int = 0
    alt: str = ""


NOTHING_TOLD: Final = ToldImage()
MAX_PIXELS: Final = 100_000
_PIXELS: Final = re.compile(r"\s*(\d{1,6})(?:\.\d*)?\s*(?:px|pixels?)?\s*", re.IGNORECASE)


def pixels_in(text: str) -> int:
    """Read a size; 0 for none, and for one that no picture has."""
    match = _PIXELS.fullmatch(text)
    return int(match[1]) if match and int(match[1]) <= MAX_PIXELS else 0


def place_pictures(
    named: Sequence[str],
    shown: Sequence[Picture],
    name: str,
    *,
    base: str,
    told: Mapping[str, ToldImage],
) -> dict[str, Any]:
    """Write the pictures of one product as parallel fields; what is shown goes before what is told."""
    by_file: dict[str, tuple[str, Picture | None]] = {file_of(url): (url, None) for url in named}
    for picture in shown:
        url = resolve(picture.url, base)
        file = file_of(url)
        if not url or picture.is_beside:
            continue
        if file in by_file:
            known = by_file[file]
            by_file[file] = (known[0], known[1] or picture)
        elif _belongs(picture, name) and len(by_file) < MAX_IMAGES:
            by_file[file] = (url, picture)
    found = list(by_file.values())
    pictures = [picture for _, picture in found]
    said = [told.get(url, NOTHING_TOLD) for url, _ in found]
    seen = [
        ToldImage() if picture is None else ToldImage(picture.width, picture.height, picture.alt)
        for picture in pictures
    ]
    return {
        "image_urls": tuple(url for url, _ in found),
        "image_kinds": tuple(_kind(number, picture) for number, picture in enumerate(pictures)),
        "image_alts": tuple(one.alt or other.alt for one, other in zip(seen, said, strict=True)),
        "image_positions": tuple(range(len(found))),
        "image_widths": tuple(one.width or other.width for one, other in zip(seen, said, strict=True)),
        "image_heights": tuple(one.height or other.height for one, other in zip(seen, said, strict=True)),
        "image_bytes": (0,) * len(found),
    }


def _belongs(picture: Picture, name: str) -> bool:
    if 0 < picture.width < LEAST_PIXELS and not _THUMBNAIL.search(picture.words):
        return False
    alt, named = picture.alt.casefold(), name.casefold()
    is_called = len(alt) >= LEAST_ALT_CHARS and (named in alt or alt in named)
    return _GALLERY.search(picture.words) is not None or alt == named or is_called


def _kind(number: int, picture: Picture | None) -> str:
    if number == 0:
        return ImageKind.PRIMARY.value
    is_small = picture is not None and _THUMBNAIL.search(picture.words)
    return (ImageKind.THUMBNAIL if is_small else ImageKind.GALLERY).value


def file_of(url: str) -> str:
    """Give what forms of one picture have in common: its file's name, without a size."""
    name = url.partition("?")[0].partition("#")[0].rstrip("/").rpartition("/")[2].lower()
    return _SIZE.sub("", name)
