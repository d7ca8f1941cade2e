"""Combine the images of a product from declared URLs and visible images.

Declared images come first; those of a gallery are added. Visible images contribute texts and sizes, and show
which ones are thumbnails.
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
"""A shorter text may occur in any name."""

_GALLERY_NAMES: Final = re.compile(
    r"gallery|product-?(?:image|photo|media|img)|main-?image|zoom|pdp-?image|image-?viewer|imgtagwrapper"
)
_THUMBNAIL_NAMES: Final = re.compile(r"thumb|swatch|alt-?images")
_SIZE_SUFFIX: Final = re.compile(
    r"[._-](?:\d{2,4}x\d{0,4}|x\d{2,4}|small|medium|large|thumb|sq\d+|grande|master)(?=[._-]|$)"
)


class ImageMetadata(NamedTuple):
    """Properties of an image in structured data."""

    width: int = 0
    height: int = 0
    alt: str = ""


NO_IMAGE_METADATA: Final = ImageMetadata()
MAX_PIXELS: Final = 100_000
_PIXELS: Final = re.compile(r"\s*(\d{1,6})(?:\.\d*)?\s*(?:px|pixels?)?\s*", re.IGNORECASE)


def parse_pixels(text: str) -> int:
    """Parse an image size in pixels; 0 if it is missing or implausible."""
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
    """Return the images of a product as parallel fields; visible properties precede declared ones."""
    by_file: dict[str, tuple[str, VisibleImage | None]] = {
        image_file_key(url): (url, None) for url in declared
    }
    for image in visible:
        url = resolve_url(image.url, base)
        file = image_file_key(url)
        if not url or image.is_peripheral:
            continue
        if file in by_file:
            entry = by_file[file]
            by_file[file] = (entry[0], entry[1] or image)
        elif _is_product_image(image, name) and len(by_file) < MAX_IMAGES:
            by_file[file] = (url, image)
    return _image_fields(list(by_file.values()), metadata)


def _image_fields(
    found: Sequence[tuple[str, VisibleImage | None]], metadata: Mapping[str, ImageMetadata]
) -> dict[str, Any]:
    images = [image for _, image in found]
    declared = [metadata.get(url, NO_IMAGE_METADATA) for url, _ in found]
    visible = [
        NO_IMAGE_METADATA if image is None else ImageMetadata(image.width, image.height, image.alt)
        for image in images
    ]
    both = list(zip(visible, declared, strict=True))
    return {
        "image_urls": tuple(url for url, _ in found),
        "image_kinds": tuple(_image_kind(number, image) for number, image in enumerate(images)),
        "image_alts": tuple(one.alt or other.alt for one, other in both),
        "image_positions": tuple(range(len(found))),
        "image_widths": tuple(one.width or other.width for one, other in both),
        "image_heights": tuple(one.height or other.height for one, other in both),
        "image_bytes": (0,) * len(found),
    }


def _is_product_image(image: VisibleImage, name: str) -> bool:
    if 0 < image.width < MIN_PIXELS and not _THUMBNAIL_NAMES.search(image.names):
        return False
    alt, named = image.alt.casefold(), name.casefold()
    is_called = len(alt) >= MIN_ALT_CHARS and (named in alt or alt in named)
    return _GALLERY_NAMES.search(image.names) is not None or alt == named or is_called


def _image_kind(number: int, image: VisibleImage | None) -> str:
    if number == 0:
        return ImageKind.PRIMARY.value
    is_small = image is not None and _THUMBNAIL_NAMES.search(image.names)
    return (ImageKind.THUMBNAIL if is_small else ImageKind.GALLERY).value


def image_file_key(url: str) -> str:
    """Return a key that sizes of one image share: its file name without a size suffix."""
    name = url.partition("?")[0].partition("#")[0].rstrip("/").rpartition("/")[2].lower()
    return _SIZE_SUFFIX.sub("", name)
