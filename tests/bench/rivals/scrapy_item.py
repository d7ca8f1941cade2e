"""Run by the Python of Scrapy's own environment: a folder of pages, how often; prints CPU seconds a page.

The item is what our level `basic` has of it at the least: title, description, canonical URL, links (absolute,
each once), text, hashes of body and text. Nothing is fetched, and no engine runs: this is reading alone.
"""

import hashlib
import sys
import time
from pathlib import Path

from scrapy.http import HtmlResponse
from scrapy.linkextractors import LinkExtractor

FOLDER, TIMES = Path(sys.argv[1]), int(sys.argv[2])
LINKS = LinkExtractor()
URL = "https://site.test/folder/page.html"
HEADERS = {"Content-Type": "text/html; charset=utf-8"}


def item_of(response):
    """Read one page as a spider does."""
    text = " ".join(response.css("body ::text").getall())
    return {
        "url": response.url,
        "title": response.css("title::text").get(),
        "description": response.css('meta[name="description"]::attr(content)').get(),
        "canonical": response.css('link[rel="canonical"]::attr(href)').get(),
        "links": [(link.url, link.text) for link in LINKS.extract_links(response)],
        "text": text,
        "body_hash": hashlib.sha256(response.body).hexdigest(),
        "text_hash": hashlib.sha256(text.encode()).hexdigest(),
    }


pages = [path.read_bytes() for path in sorted(FOLDER.iterdir())]
for page in pages:
    item_of(HtmlResponse(URL, body=page, headers=HEADERS))
begin = time.process_time()
for _ in range(TIMES):
    for page in pages:
        item_of(HtmlResponse(URL, body=page, headers=HEADERS))
sys.stdout.write(f"{(time.process_time() - begin) / TIMES / len(pages)}\n")
