"""Feeds and sitemaps: the corpora with their expectations, and the cases of the unit tests."""

from __future__ import annotations

import time
from collections.abc import Iterator
from html import escape
from io import BytesIO
from pathlib import Path
from typing import Any, Final
from urllib.parse import urljoin
from xml.parsers import expat

from strider.parser.core.content.plain_text import strip_markup
from strider.parser.core.document.charsets import detect_charset, to_text
from strider.parser.core.lists import feed, xml_tokenizer
from strider.parser.core.lists.sitemap import parse_sitemap
from strider.parser.core.lists.timestamps import to_iso_utc
from strider.parser.core.lists.xml_tokenizer import END, START, TEXT, XmlToken
from tests.integration.parser.feed_expectations import BASE, expectations
from tests.unit.parser import test_odd_inputs
from tests.unit.parser.lists import test_list_documents

from .comparison import OWN, Candidate, Case, Read, Task, parameters

CORPORA: Final = Path(__file__).parents[4] / "shared" / "corpora"
SITE: Final = "https://site.test/"
LINK: Final = "<link>https://site.test/a</link>"
ITEM: Final = f"<item><title>T</title>{LINK}<pubDate>Tue, 05 Mar 2024 10:00:00 GMT</pubDate>{{}}</item>"
ENTITIES: Final = "".join(f'<!ENTITY a{at} "{f"&a{at - 1};" * 10}">' for at in range(1, 10))
LAUGHS: Final = f'<?xml version="1.0"?><!DOCTYPE r [<!ENTITY a0 "haha">{ENTITIES}]>'


def _rss(items: str) -> bytes:
    return f'<rss version="2.0"><channel><title>F</title>{items}</channel></rss>'.encode()


def _own_feed(content: bytes) -> dict[str, Any]:
    found = feed.parse_feed(to_text(content, detect_charset(content, "")), BASE, with_details=True)
    entries = [{"title": one.title, "url": one.url, **one.details} for one in found.entries]
    return {**found.about, "title": found.title, "entries": entries}


def _time(parts: time.struct_time | None) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", parts) if parts else ""


def _feedparser() -> Read:
    import feedparser  # noqa: PLC0415  # optional

    def fields(part: Any) -> dict[str, Any]:
        links = [*part.get("links", ()), *part.get("enclosures", ())]
        return {
            "title": part.get("title", ""),
            "url": part.get("link", ""),
            "links": [{"href": link.get("href", "")} for link in links],
            "author": part.get("author_detail", part).get("name") or part.get("author", ""),
            "summary": part.get("summary", ""),
            "published_at": _time(part.get("published_parsed") or part.get("created_parsed")),
            "updated_at": _time(part.get("updated_parsed")),
        }

    def read(content: bytes) -> dict[str, Any]:
        headers = {"content-location": BASE}
        found = feedparser.parse(content, response_headers=headers, sanitize_html=False)
        return {**fields(found.feed), "entries": [fields(entry) for entry in found.entries]}

    return read


def _fastfeedparser() -> Read:
    import fastfeedparser  # noqa: PLC0415  # optional

    def fields(part: Any) -> dict[str, Any]:
        return {
            "title": part.get("title") or "",
            "url": part.get("link") or "",
            "links": [{"href": link.get("href", "")} for link in part.get("links") or ()],
            "author": part.get("author") or "",
            "summary": part.get("description") or "",
            "published_at": to_iso_utc(part.get("published") or ""),
            "updated_at": to_iso_utc(part.get("updated") or ""),
        }

    def read(content: bytes) -> dict[str, Any]:
        found = fastfeedparser.parse(content)
        return {**fields(found.feed), "entries": [fields(entry) for entry in found.entries]}

    return read


class _LxmlTarget:
    """Collects the tokens of the own tokenizer from events of lxml."""

    def __init__(self) -> None:
        self.tokens: list[XmlToken] = []
        self._prefixes = xml_tokenizer._PREFIX_OF_NAMESPACE
        self._root = ""

    def _name(self, tag: str) -> str:
        namespace, _, local = tag.lower().rpartition("}")
        self._root = self._root or namespace or " "
        prefix = self._prefixes.get(namespace[1:].rstrip("/"), "") if namespace != self._root else ""
        return f"{prefix}:{local}" if prefix else local

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        names = {name: name.replace("{http://www.w3.org/XML/1998/namespace}", "xml:") for name in attributes}
        raw = "".join(f' {names[name]}="{escape(value)}"' for name, value in attributes.items())
        self.tokens.append(XmlToken(START, self._name(tag), raw))

    def end(self, tag: str) -> None:
        self.tokens.append(XmlToken(END, self._name(tag), ""))

    def data(self, text: str) -> None:
        self.tokens.append(XmlToken(TEXT, "", text))

    def close(self) -> list[XmlToken]:
        return self.tokens


def _own_feed_on_lxml() -> Read:
    """Return the own reader of feeds, with its tokens from lxml in recovery mode."""
    from lxml import etree  # noqa: PLC0415  # optional

    def tokens(text: str) -> list[XmlToken]:
        parser = etree.XMLParser(target=_LxmlTarget(), recover=True, resolve_entities=False, no_network=True)
        parser.feed(text.partition("?>")[2] if text.lstrip().startswith("<?xml") else text)
        return list(parser.close())

    def read(content: bytes) -> dict[str, Any]:
        own, feed.tokenize = feed.tokenize, tokens
        try:
            return _own_feed(content)
        finally:
            feed.tokenize = own

    return read


def _feed_cases() -> Iterator[Case]:
    for wanted in expectations(CORPORA / "feeds"):
        yield Case(wanted.path.read_bytes(), wanted.is_met)
    for body, url in parameters(test_odd_inputs.test_addresses_of_entries):
        if "<urlset" not in body and ":urlset" not in body:
            yield Case(body.encode(), lambda found, url=url: _same_url(found["entries"][0].get("url"), url))
    for body, fields in parameters(test_odd_inputs.test_fields_of_entries):
        yield Case(body.encode(), lambda found, fields=fields: _has_fields(found["entries"][0], fields))


def _same_url(found: str | None, url: str) -> bool:
    """Compare URLs; a relative one is left to the caller by some libraries."""
    return (urljoin(SITE, found.replace(BASE, SITE)) if found else "") == url


def _has_fields(entry: dict[str, Any], fields: dict[str, str]) -> bool:
    """Compare fields as plain text; markup is left to the caller by some libraries."""
    return all(value in {entry[name], strip_markup(entry[name])} for name, value in fields.items())


def feeds() -> Task:
    """Feeds to links, titles and dates, of the corpora and of broken ones."""
    words = "<description>" + "word " * 180 + "</description>"
    return Task(
        "Feeds",
        [
            Candidate(OWN, "", lambda: _own_feed),
            Candidate(f"{OWN} on lxml", "lxml", _own_feed_on_lxml),
            Candidate("feedparser", "feedparser", _feedparser),
            Candidate("fastfeedparser", "fastfeedparser", _fastfeedparser),
        ],
        [*_feed_cases()],
        {
            "20,000 entries": _rss(ITEM.format(words) * 20_000),
            "billion laughs": LAUGHS.encode() + _rss("<item><title>&a9;</title></item>"),
            "200,000 open tags": _rss("<item><title>T</title>" + "<a>" * 200_000),
            "50,000 open entries": _rss("<item><title>T" * 50_000),
            "50,000 namespaces": "".join(
                ("<rss ", *(f"xmlns:a{at}='x' " for at in range(50_000)), "><channel/></rss>")
            ).encode(),
        },
    )


def _own_sitemap(text: str) -> list[str]:
    return [one.url for one in parse_sitemap([text], "https://site.test/", with_details=False).entries]


def _expat_sitemap(text: str) -> list[str]:
    found: list[str] = []
    parts: list[str] = []
    names: list[str] = []

    def start(name: str, _: dict[str, str]) -> None:
        parts.clear()
        if not names:  # the root element, whose prefix is that of its entries
            names.append(f"{name.rpartition(':')[0]}:loc".removeprefix(":"))

    def end(name: str) -> None:
        if name == names[0]:
            found.append("".join(parts).strip())

    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = parts.append
    parser.Parse(text.encode(), True)  # its only form
    return found


def _lxml_sitemap() -> Read:
    from lxml import etree  # noqa: PLC0415  # optional

    def read(text: str) -> list[str]:
        rows = etree.iterparse(BytesIO(text.encode()), recover=True, resolve_entities=False, no_network=True)
        found = []
        for _, element in rows:
            if element.tag.rpartition("}")[2] == "loc":
                found.append((element.text or "").strip())
            elif element.tag.rpartition("}")[2] == "url":
                element.clear()
        return found

    return read


def _sitemap_parser() -> Read:
    from usp.tree import sitemap_from_str  # noqa: PLC0415  # optional

    return lambda text: [page.url for page in sitemap_from_str(text).all_pages()]


def _sitemap_cases() -> Iterator[Case]:
    site = "https://site.test"
    for (entry,) in parameters(test_list_documents.test_extensions_do_not_change_the_core_fields_of_an_entry):
        if "<url>" not in entry:
            entry = entry.replace("/i.png", f"{site}/i.png")  # noqa: PLW2901  # a whole URL
            rows = f"<url><loc>{site}/a</loc>{entry}</url> <url>{entry}<loc>{site}/b</loc></url>"
            yield Case(f"<urlset>{rows}</urlset>", lambda found: found == [f"{site}/a", f"{site}/b"])
    for address, url in parameters(test_list_documents.test_parts_of_an_address_are_no_signs):
        yield Case(
            f"<urlset><url><loc>{site}{address}</loc></url></urlset>",
            lambda found, url=url: found in ([f"{site}{url}"], [f"{site}{url.replace('%C3%A9', 'é')}"]),
        )
    for body, url in parameters(test_odd_inputs.test_addresses_of_entries):
        if "urlset" in body:
            yield Case(body, lambda found, url=url: found == [url])
    rows = f"<url><lastmod>2024-03-01<loc>{site}/a</url><url><loc>{site}/b<lastmod>2024</url>"
    cut = f"<urlset>{rows}<url><loc>{site}/c"
    yield Case(cut, lambda found: found[:2] == [f"{site}/a", f"{site}/b"])


def sitemaps() -> Task:
    """Sitemaps to the URLs of their entries."""
    entry = "<url><loc>https://site.test/some/path</loc><lastmod>2024-03-05</lastmod>{}</url>"
    image = "<image:image><image:loc>https://site.test/i.png</image:loc></image:image>" * 8
    return Task(
        "Sitemaps",
        [
            Candidate(OWN, "", lambda: _own_sitemap),
            Candidate("expat (pyexpat)", "", lambda: _expat_sitemap),
            Candidate("lxml, recovering", "lxml", _lxml_sitemap),
            Candidate("ultimate-sitemap-parser", "ultimate-sitemap-parser", _sitemap_parser),
        ],
        [*_sitemap_cases()],
        {
            "50,000 entries": f"<urlset>{entry.format('') * 50_000}</urlset>",
            "50,000 entries with images": f"<urlset xmlns:image='i'>{entry.format(image) * 50_000}</urlset>",
            "billion laughs": f"{LAUGHS}<urlset><url><loc>&a9;</loc></url></urlset>",
            "200,000 open tags": "<urlset>" + "<url>" * 200_000,
        },
    )
