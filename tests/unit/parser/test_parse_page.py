"""From body to event: one event for every page, whatever the bytes are."""

from __future__ import annotations

import gzip
from hashlib import sha256
from typing import Any

import pytest

from strider.contracts.generated.events import PageParsed
from strider.parser.core import ParseLimits

from .pages import URL, a_page, read

HTML = (
    "<html lang=en><head><title>Streams</title><meta name=description content='About streams'></head>"
    "<body><p>Walking on streams.</p><p>Two words</p><a href=/next>next</a></body></html>"
)


@pytest.mark.req("S0.2.1", "S3.9.11", "S3.1.4", "S3.2.3", "S3.6.6", "S3.6.8", "S3.4.6")
@pytest.mark.req("S3.15.3", part="HTML is parsed without running scripts")
def test_a_page_has_all_promised_fields() -> None:
    page = read(HTML, depth=2, referrer="https://site.test/", metadata={"a": "b"}, etag='"1"')
    text = "Walking on streams.\nTwo words\nnext"

    assert (page.outcome, page.document_kind, page.extraction) == ("parsed", "html", "basic")
    assert (page.title, page.description, page.text) == ("Streams", "About streams", text)
    assert (page.link_urls, page.link_anchors) == (("https://site.test/next",), ("next",))
    assert page.text_hash == sha256(text.encode()).hexdigest()
    assert page.raw_hash == sha256(HTML.encode()).hexdigest()
    assert (page.text_chars, page.word_count, page.paragraph_count) == (len(text), 6, 2)
    assert (page.charset, page.charset_evidence) == ("utf-8", "header")
    assert (page.url, page.depth, page.referrer, page.metadata, page.etag) == (
        URL, 2, "https://site.test/", {"a": "b"}, '"1"',
    )  # fmt: skip
    assert (page.links_found, page.links_dropped, page.truncated) == (1, 0, False)


def test_hashes_do_not_depend_on_the_content_encoding() -> None:
    """The same page, compressed or in another charset, has not changed."""
    plain = read(HTML)
    packed = read(gzip.compress(HTML.encode()), content_encoding="gzip")
    other = read(HTML.encode("utf-16"), content_type="text/html")

    assert packed.raw_hash == plain.raw_hash
    assert packed.text_hash == other.text_hash == plain.text_hash


def test_the_text_hash_does_not_see_what_readers_do_not_see() -> None:
    """Nonces, scripts and attributes change with every response."""
    changed = HTML.replace("<p>", "<p data-nonce=1>").replace("</body>", "<script>n=2</script></body>")

    assert read(changed).text_hash == read(HTML).text_hash
    assert read(changed).raw_hash != read(HTML).raw_hash


@pytest.mark.parametrize(
    ("body", "fields", "outcome", "kind", "error_class"),
    [
        pytest.param(b"", {}, "empty", "html", "", id="no-body"),
        pytest.param(b" \n ", {}, "empty", "html", "", id="only-spaces"),
        pytest.param(b"\xef\xbb\xbf\n", {}, "empty", "html", "", id="only-a-mark"),
        pytest.param(b"%PDF-1.4 x", {}, "malformed", "pdf", "malformed", id="pdf"),
        pytest.param(b"\x89PNG\r\n\x1a\n", {}, "unsupported", "image", "unsupported_document", id="picture"),
        pytest.param(b"\0\1\2" * 99, {}, "unsupported", "other", "unsupported_document", id="binary"),
        pytest.param(
            b"\0\1\2" * 99,
            {"content_encoding": "gzip"},
            "undecodable",
            "other",
            "bad_encoding",
            id="bad-gzip",
        ),
        pytest.param(
            gzip.compress(b"0" * 2**21),
            {"content_encoding": "gzip"},
            "decode_bomb",
            "other",
            "decode_bomb",
            id="bomb",
        ),
        pytest.param(b"x" * (10 * 2**20 + 1), {}, "too_large", "other", "body_too_large", id="too-large"),
    ],
)
def test_what_cannot_be_read_is_an_event_too(
    body: bytes, fields: dict[str, Any], outcome: str, kind: str, error_class: str
) -> None:
    page = read(body, **fields)

    assert (page.outcome, page.document_kind, page.error_class) == (outcome, kind, error_class)
    assert (page.url, page.fetch_sequence, page.text, page.link_urls) == (URL, 7, "", ())


def test_what_has_not_changed_is_not_read() -> None:
    page = read(b"", not_modified=True, status=304)

    assert (page.outcome, page.not_modified, page.status) == ("not_modified", True, 304)


@pytest.mark.parametrize(
    ("body", "content_type", "kind", "text"),
    [
        pytest.param(b"line one\nline  two\n", "text/plain", "text", "line one\nline  two", id="text"),
        pytest.param(b'{"a": [1, 2]}', "application/json", "json", '{"a": [1, 2]}', id="json"),
        pytest.param(b"<a><b/></a>", "application/xml", "xml", "<a><b/></a>", id="xml"),
        pytest.param("grün".encode("cp1252"), "text/plain; charset=latin1", "text", "grün", id="charset"),
        pytest.param(
            b"a\0b c d e f g h i j k l m n o p q r s t u v w x y z" * 9, "text/plain", "text", None, id="nul"
        ),
    ],
)
def test_texts_are_kept_as_they_are(body: bytes, content_type: str, kind: str, text: str | None) -> None:
    page = read(body, content_type=content_type)

    assert (page.outcome, page.document_kind) == ("parsed", kind)
    assert "\0" not in page.text
    assert page.text == text or text is None


@pytest.mark.parametrize(
    "fields",
    [{"truncated": True}, {"content_encoding": "gzip", "cut": 20}],
    ids=["by-the-fetcher", "on-its-way"],
)
def test_a_page_that_was_cut_is_read_as_far_as_it_goes(fields: dict[str, Any]) -> None:
    body = HTML.encode()
    if cut := fields.pop("cut", 0):
        body = gzip.compress(body * 50)[:-cut]

    page = read(body, **fields)

    assert (page.outcome, page.truncated, page.title) == ("partly_parsed", True, "Streams")


def test_directives_of_page_and_header_hold_together() -> None:
    page = read(
        "<meta name=robots content=nofollow>x",
        header_names=("x-robots-tag", "Content-Language"),
        header_values=("noindex", "de"),
    )

    assert (page.noindex, page.nofollow, page.noarchive) == (True, True, False)
    assert page.robots_directives == ("nofollow", "noindex")


def test_headers_hold_for_texts_too() -> None:
    page = read(b"x", content_type="text/plain", header_names=("X-Robots-Tag",), header_values=("noindex",))

    assert page.noindex


def test_the_limit_of_links_is_a_setting() -> None:
    page = read("".join(f"<a href=/{n}>x</a>" for n in range(30)), limits=ParseLimits(max_links=10))

    assert (len(page.link_urls), page.links_found, page.links_dropped) == (10, 30, 20)


def test_parsing_the_same_bytes_results_in_the_same_event() -> None:
    """A repeat must result in the same event, except for its cost."""

    def without_cost(page: PageParsed) -> dict[str, Any]:
        return {name: value for name, value in page.to_record().items() if name != "parse_us"}

    assert without_cost(read(HTML)) == without_cost(read(HTML))


def test_every_field_that_names_the_page_is_carried() -> None:
    """Settling, storing and tracing depend on them."""
    page = a_page(b"x", hop=1, priority=3, is_start=True, redirect_chain=("https://a.test/",), kind="feed")
    parsed = read(b"x", hop=1, priority=3, is_start=True, redirect_chain=("https://a.test/",), kind="feed")
    shared = page.to_record().keys() & parsed.to_record().keys()

    differing = {name for name in shared if page.to_record()[name] != parsed.to_record()[name]}
    assert differing == set()
