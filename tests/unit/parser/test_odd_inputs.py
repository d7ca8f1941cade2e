"""Real-life feeds, sitemaps and structured data: misspelt, mislabelled, wrapped twice."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

from strider.contracts.generated.events import PageParsed
from strider.parser.core import ParseLimits
from strider.parser.core.lists.timestamps import to_iso_utc

from .pages import read

RECORDS = ParseLimits(extraction="records")
MOMENT = "2024-03-05T10:20:30Z"
TITLE = "Привет, мир, это заголовок новости"
ARTICLE = "https://site.test/a"


def of_xml(body: str | bytes, content_type: str = "application/xml", **fields: Any) -> PageParsed:
    url = "https://site.test/blog/feed.xml"
    return read(body, limits=RECORDS, url=url, content_type=content_type, **fields)


def first_of(page: PageParsed) -> dict[str, Any]:
    records: list[dict[str, Any]] = json.loads(page.structured_json)
    entry: dict[str, Any] = records[0]["entries"][0]
    return entry


def rss(item: str) -> str:
    return f'<?xml version="1.0"?><rss><channel><title>F</title><item>{item}</item></channel></rss>'


def atom(entry: str, attributes: str = "") -> str:
    return f'<feed xmlns="http://www.w3.org/2005/Atom" {attributes}><entry>{entry}</entry></feed>'


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(rss("<title><![CDATA[<b>A</b> &amp; B]]></title>"), {"title": "A & B"}, id="cdata"),
        pytest.param(
            rss("<title><![CDATA[A]]> and <![CDATA[B]]></title>"), {"title": "A and B"}, id="two cdata"
        ),
        pytest.param(rss("<title>A &amp;amp; B&amp;#8217;s</title>"), {"title": "A & B\u2019s"}, id="twice"),
        pytest.param(
            rss("<title>Caf&eacute; &nbsp;&unknown; &</title>"), {"title": "Café &unknown; &"}, id="entities"
        ),
        pytest.param(rss("<title>A<!-- c --> B</title>"), {"title": "A B"}, id="remark"),
        pytest.param(rss("<dc:creator>Me</dc:creator>"), {"author": "Me"}, id="prefix without namespace"),
        pytest.param(rss("<author>me@site.test (Me)</author>"), {"author": "Me"}, id="author with address"),
        pytest.param(
            rss("<content:encoded><![CDATA[<p>One</p><p>Two</p>]]></content:encoded>"),
            {"summary": "One Two"},
            id="blocks part words",
        ),
        pytest.param(
            atom(
                '<content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><p>One</p><p>Two</p></div></content>'
            ),
            {"summary": "One Two"},
            id="xhtml",
        ),
        pytest.param(
            atom("<author><name>Me</name><email>m@x.test</email><uri>https://me.test</uri></author>"),
            {"author": "Me"},
            id="author in parts",
        ),
        pytest.param(
            '<a:feed xmlns:a="http://www.w3.org/2005/Atom"><a:entry><a:title>T</a:title><a:author><a:name>Me</a:name>'
            "<a:email>m@x.test</a:email></a:author></a:entry></a:feed>",
            {"title": "T", "author": "Me"},
            id="prefixed atom",
        ),
        pytest.param(
            atom('<title type="text">1 &lt; 2 &amp;amp;</title>'), {"title": "1 < 2 &amp;"}, id="text"
        ),
        pytest.param(atom('<title type="html">A &lt;b&gt;b&lt;/b&gt;</title>'), {"title": "A b"}, id="html"),
    ],
)
def test_fields_of_entries(body: str, expected: dict[str, str]) -> None:
    entry = first_of(of_xml(body))

    assert {name: entry.get(name) for name in expected} == expected


@pytest.mark.parametrize(
    ("body", "url"),
    [
        pytest.param(rss("<link>/a?x=1&y=2</link>"), f"{ARTICLE}?x=1&y=2", id="bare ampersand"),
        pytest.param(rss("<link>/a?x=1&amp;amp;y=2</link>"), f"{ARTICLE}?x=1&y=2", id="ampersand twice"),
        pytest.param(rss("<link><![CDATA[ /a ]]></link>"), ARTICLE, id="cdata"),
        pytest.param(rss("<link>//cdn.site.test/a</link>"), "https://cdn.site.test/a", id="without scheme"),
        pytest.param(rss("<guid>https://site.test/a</guid>"), ARTICLE, id="guid"),
        pytest.param(rss('<guid isPermaLink="False">https://site.test/a</guid>'), "", id="guid is none"),
        pytest.param(
            atom('<link href="a"/>', 'xml:base="https://o.test/x/"'), "https://o.test/x/a", id="base"
        ),
        pytest.param(
            atom('<link xml:base="/y/" href="a"/>', 'xml:base="https://o.test/x/"'),
            "https://o.test/y/a",
            id="base of a link",
        ),
        pytest.param("<rss><channel><item><title>T<link>/a</link></rss>", ARTICLE, id="nothing closed"),
        pytest.param("<RSS><CHANNEL><ITEM><LINK>/a</LINK></ITEM></CHANNEL></RSS>", ARTICLE, id="capitals"),
        pytest.param(
            f"<urlset><url><loc>{ARTICLE}?x=1&y=2</loc></url></urlset>", f"{ARTICLE}?x=1&y=2", id="set"
        ),
        pytest.param(
            f"<urlset><url><loc>{ARTICLE}?x=1&amp;amp;y=2</loc></url></urlset>",
            f"{ARTICLE}?x=1&y=2",
            id="set twice",
        ),
        pytest.param(
            f"<s:urlset xmlns:s='x'><s:url><s:loc>{ARTICLE}?x=1&amp;amp;y=2</s:loc></s:url></s:urlset>",
            f"{ARTICLE}?x=1&y=2",
            id="set with prefix twice",
        ),
    ],
)
def test_addresses_of_entries(body: str, url: str) -> None:
    assert (*of_xml(body).entry_urls, "")[0] == url


@pytest.mark.parametrize("wrappings", [1, 2])
@pytest.mark.parametrize("encoding", ["", "gzip"])
def test_a_file_that_is_packed_more_than_once(encoding: str, wrappings: int) -> None:
    body = rss("<title>T</title>").encode()
    for _ in range(wrappings + bool(encoding)):
        body = gzip.compress(body)

    assert first_of(of_xml(body, content_encoding=encoding))["title"] == "T"


@pytest.mark.parametrize(
    "text",
    [
        *("Tue, 5 Mar 2024 10:20:30 Z", "Tue, 05 Mar 24 10:20:30 GMT", "Tue, 05 Mar 2024 05:20:30 EST"),
        *("Tue, 05 Mar 2024 11:20:30 +01:00", "Tue Mar  5 10:20:30 2024", "March 5, 2024 10:20:30"),
        *("2024-03-05 10:20:30", "20240305T102030Z", "2024/03/05 10:20:30", "05.03.2024 10:20:30"),
        *("2024年3月5日 10:20:30", "1709634030", "1709634030000", "Di, 05 Mär 2024 10:20:30 GMT"),
        *("mar., 05 mars 2024 10:20:30 +0000", "Вт, 05 мар 2024 10:20:30 GMT", "5 marzo 2024 10:20:30"),
    ],
)
def test_spellings_of_one_moment(text: str) -> None:
    assert to_iso_utc(text) == MOMENT


@pytest.mark.parametrize("text", ["5/3/2024", "2024030510", "99.99.2024", "5 Foo 2024", "31.02.2024"])
def test_what_is_no_moment_or_two(text: str) -> None:
    assert to_iso_utc(text) == ""


def test_midnight_may_be_the_end_of_a_day() -> None:
    assert to_iso_utc("Tue, 05 Mar 2024 24:00:00 GMT") == "2024-03-06T00:00:00Z"


def test_months_that_begin_alike() -> None:
    assert [to_iso_utc(f"1 {name} 2024")[5:7] for name in ("juin", "juillet", "июня", "июля")] == [
        "06",
        "07",
    ] * 2


def test_a_json_feed_names_all_authors() -> None:
    item = {"id": "1", "url": "/a", "title": "T &amp; U", "authors": [{"name": "Me"}, {"name": "You"}, 3]}
    feed = {"version": "https://jsonfeed.org/version/1.1", "title": "F", "items": [item]}
    entry = first_of(of_xml(json.dumps(feed), "application/feed+json"))

    assert (entry["url"], entry["title"], entry["author"]) == (ARTICLE, "T & U", "Me, You")


@pytest.mark.parametrize("label", ["", "; charset=utf-8"])
@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be", "utf-16", "windows-1251"])
def test_a_label_that_the_bytes_contradict(codec: str, label: str) -> None:
    html = f"<html><head><title>{TITLE}</title></head><body><p>{TITLE}</p></body></html>"
    page = of_xml(html.encode(codec), f"text/html{label}")
    feed = of_xml(rss(f"<title>{TITLE}</title>").encode(codec), f"application/xml{label}")

    assert (page.title, first_of(feed)["title"]) == (TITLE, TITLE)


def test_utf_8_that_is_labelled_as_something_of_one_byte() -> None:
    html = f"<title>{TITLE}</title>".encode()

    assert of_xml(html, "text/html; charset=iso-8859-1").title == TITLE
    assert of_xml(b"<meta charset=windows-1251>" + html, "text/html").title == TITLE


def test_few_odd_bytes_change_no_label() -> None:
    html = f"<title>{TITLE}</title>".encode() + b"\xff\xfe\xe9"

    assert of_xml(html, "text/html; charset=utf-8").charset == "utf-8"
    assert of_xml("<title>Café</title>".encode("latin-1"), "text/html; charset=utf-8").charset == "utf-8"
    assert of_xml("<title>Café</title>".encode(), "text/html; charset=latin1").charset == "windows-1252"


def test_iso_2022_jp_is_detected_by_its_shifts() -> None:
    assert of_xml("<title>こんにちは</title>".encode("iso2022_jp"), "text/html").title == "こんにちは"


PRODUCT = (
    '{"@context":"https://schema.org","@type":"Product","name":"Kettle","sku":"K1","offers":'
    '{"@type":"Offer","price":"12.50","priceCurrency":"EUR","availability":"https://schema.org/InStock"}}'
)
PREFIXED = (
    '{"@context":{"schema":"http://schema.org/"},"@type":"schema:Product","schema:name":"Kettle","schema:sku":"K1",'
    '"schema:offers":{"@type":"schema:Offer","schema:price":"12.50","schema:priceCurrency":"EUR",'
    '"schema:availability":{"@id":"schema:InStock"}}}'
)
GRAPH = (
    '{"@graph":[{"@type":"WebPage","mainEntity":{"@id":"#p"}},{"@type":"Product","@id":"#p","name":"Kettle",'
    '"sku":"K1","offers":{"@id":"#o"}},{"@type":"Offer","@id":"#o","price":"12.50","priceCurrency":"EUR",'
    '"availability":"InStock"}]}'
)


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(PRODUCT, id="as it should be"),
        pytest.param(f"/* c */ {PRODUCT} // end", id="remarks"),
        pytest.param(f"<!-- {PRODUCT} -->", id="markup's remark"),
        pytest.param(f"//<![CDATA[\n{PRODUCT}\n//]]>", id="cdata"),
        pytest.param(f"\ufeff{PRODUCT}", id="mark"),
        pytest.param(f"{PRODUCT};", id="semicolon"),
        pytest.param(PRODUCT.replace('"K1",', '"K1",,').replace("}}", ",},}"), id="commas too many"),
        pytest.param(PRODUCT.replace('"K1",', '"K1"\n'), id="comma too few"),
        pytest.param(PRODUCT.replace('"', "'"), id="single quotes"),
        pytest.param(
            PRODUCT.replace('"sku"', "\u201csku\u201d").replace('"K1"', "\u201cK1\u201d"), id="curled quotes"
        ),
        pytest.param(PRODUCT.replace('"sku":', "sku:"), id="bare names"),
        pytest.param(PRODUCT.replace('"sku"', '"weight":NaN,"depth":undefined,"sku"'), id="no values"),
        pytest.param(PRODUCT.replace('"', "&quot;"), id="entities"),
        pytest.param(PRODUCT + PRODUCT.replace("Kettle", "Other"), id="several roots"),
        pytest.param(PRODUCT[:-1], id="not closed"),
        pytest.param(PREFIXED, id="prefix"),
        pytest.param(GRAPH, id="graph by reference"),
    ],
)
def test_json_ld_as_it_is_written(script: str) -> None:
    html = f"<title>Kettle</title><script type=application/ld+json>{script}</script><body><h1>Kettle</h1>"
    product = read(html, limits=RECORDS).products[0]

    assert (product.name, product.sku, product.price) == ("Kettle", "K1", "12.50")
    assert (product.currency, product.availability) == ("EUR", "in_stock")


@pytest.mark.parametrize(
    "script", ['{"a": b}', '["x" + "y"]', '{"a": f(1)}', "{'a", "var x = {a: 1}", '{"a":"x" y}']
)
def test_what_is_no_data_is_not_read_as_data(script: str) -> None:
    page = read(f"<script type=application/ld+json>{script}</script>", limits=RECORDS)

    assert not page.structured_json
    assert page.structured_errors
