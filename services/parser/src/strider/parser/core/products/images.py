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
from strider.parser.core.html.metadata import resolve_url

from .signal_models import VisibleImage

MAX_IMAGES: Final = 50
MIN_PIXELS: Final = 50
MIN_ALT_CHARS: Final = 8
"""A shorter text may be a part of any name."""

_GALLERY_NAMES: Final = re.compile(
    r"gallery|product-?(?:image|photo|media|img)|main-?image|zoom|pdp-?image|image-?viewer|imgtagwrapper"
)
_THUMBNAIL_NAMES: Final = re.compile(r"thumb|swatch|alt-?images")
_SIZE: Final = re.compile(
    r"[._-](?:\d{2,4}x\d{0,4}|x\d{2,4}|small|medium|large|thumb|sq\d+|grande|master)(?=[._-]|$)"
)


class ImageMetadata(NamedTuple):
    """What the page says for machines of one picture."""

    width: int = 0
    height: int = 0
    alt: str = ""


NO_IMAGE_METADATA: Final = ImageMetadata()
MAX_PIXELS: Final = 100_000
_PIXELS: Final = re.compile(r"\s*(\d{1,6})(?:\.\d*)?\s*(?:px|pixels?)?\s*", re.IGNORECASE)


def parse_pixels(text: str) -> int:
    """Read a size; 0 for none, and for one that no picture has."""
    match = _PIXELS.fullmatch(text)
    return int(match[1]) if match and int(match[1]) <= MAX_PIXELS else 0


def combine_images(
    declared: Sequence[str],
    visible: Sequence[VisibleImage],
    name: str,
    *,
    base: str,
    metadata: Mapping[str, ImageMetadata],
) -> dict[str, Any]:
    """Write the pictures of one product as parallel fields; what is shown goes before what is told."""
    by_file: dict[str, tuple[str, VisibleImage | None]] = {
        image_file_key(url): (url, None) for url in declared
    }
    for picture in visible:
        url = resolve_url(picture.url, base)
        file = image_file_key(url)
        if not url or picture.is_beside:
            continue
        if file in by_file:
            known = by_file[file]
            by_file[file] = (known[0], known[1] or picture)
        elif _is_product_image(picture, name) and len(by_file) < MAX_IMAGES:
            by_file[file] = (url, picture)
    found = list(by_file.values())
    pictures = [picture for _, picture in found]
    said = [metadata.get(url, NO_IMAGE_METADATA) for url, _ in found]
    seen = [
        ImageMetadata() if picture is None else ImageMetadata(picture.width, picture.height, picture.alt)
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


def _is_product_image(picture: VisibleImage, name: str) -> bool:
    if 0 < picture.width < MIN_PIXELS and not _THUMBNAIL_NAMES.search(picture.names):
        return False
    alt, named = picture.alt.casefold(), name.casefold()
    is_called = len(alt) >= MIN_ALT_CHARS and (named in alt or alt in named)
    return _GALLERY_NAMES.search(picture.names) is not None or alt == named or is_called


def _kind(number: int, picture: VisibleImage | None) -> str:
    if number == 0:
        return ImageKind.PRIMARY.value
    is_small = picture is not None and _THUMBNAIL_NAMES.search(picture.names)
    return (ImageKind.THUMBNAIL if is_small else ImageKind.GALLERY).value


def image_file_key(url: str) -> str:
    """Give what forms of one picture have in common: its file's name, without a size."""
    name = url.partition("?")[0].partition("#")[0].rstrip("/").rpartition("/")[2].lower()
    return _SIZE.sub("", name)
