"""What a page's reading is held against: Lexbor bare, and an item as a spider of Scrapy makes it.

Lexbor bare is the least that can be had: hrefs and text as they stand, nothing resolved, judged, hashed or
written down. Scrapy's item has what our level `basic` has at the least; it is made by Scrapy's own means, in
an environment of its own, without its engine.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from selectolax.lexbor import LexborHTMLParser

from strider.parser.core.content.simhash import split_words
from tests.bench.measure import Row
from tests.bench.pipeline.rivals import RIVALS, Missing, scrapy_python

ITEM_BAR: Final = 10.0
RUN_SECONDS: Final = 300.0


def bare(content: bytes) -> object:
    """Read title, description, canonical, hrefs and text, and no more."""
    tree = LexborHTMLParser(content)
    heads = [tree.css_first(selector) for selector in _HEADS]
    hrefs = [node.attributes.get("href") for node in tree.css("a[href]")]
    tree.strip_tags(["script", "style", "noscript", "template"])
    text = tree.body.text(separator=" ", strip=True) if tree.body else ""
    return [node and (node.attributes, node.text()) for node in heads], hrefs, text


_HEADS: Final = ("title", 'meta[name="description"]', 'link[rel="canonical"]')


def words_apart(text: str) -> object:
    """Tell the different words of a text apart, which is where its fingerprint begins."""
    return split_words(text.encode())


def against_scrapy(pages: Sequence[bytes], ours: float, *, what: str, times: int) -> Row:
    """Hold the seconds that a page takes us against those of Scrapy's item."""
    name, unit = f"parse `basic`, {what}: Scrapy's CPU for the same item, × ours", "×"
    python = scrapy_python()
    if isinstance(python, Missing):
        return Row(f"{name} (not here: {python.why})", 0.0, unit, None)
    with tempfile.TemporaryDirectory() as folder:
        for number, page in enumerate(pages):
            (Path(folder) / str(number)).write_bytes(page)
        words = (str(python), str(RIVALS / "scrapy_item.py"), folder, str(times))
        done = subprocess.run(words, capture_output=True, text=True, timeout=RUN_SECONDS, check=True)
    theirs = float(done.stdout)
    detail = f"{theirs * 1e3:.2f} ms against {ours * 1e3:.2f} ms"
    return Row(name, theirs / ours, unit, ITEM_BAR, more_is_better=True, detail=detail)
