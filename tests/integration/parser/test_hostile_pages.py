"""Pages made to break parsers: each has its outcome, in bounded time and memory."""

from __future__ import annotations

import asyncio
import os
import zlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.events import PageParsed
from strider.contracts.generated.topics import PAGES_FETCHED, PAGES_PARSED
from strider.parser.adapters.workers.pool import ParserWorkerPool
from strider.parser.adapters.workers.worker import WorkerConfig
from strider.parser.core import ParseLimits
from strider.runtime.clocks import SystemClock
from tests.unit.parser.pages import ARecord, a_page
from tests.unit.parser.pdfs import a_pdf, locked, packed, stream

CODEC = Codec(SchemaStore.bundled())
READ = frozenset({"parsed", "partly_parsed"})
LAUGHS = (
    b'<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY lol "lol">'
    + b"".join(b'<!ENTITY lol%d "%s">' % (n, b"&lol%d;" % (n - 1) * 10) for n in range(1, 10))
    + b"]><lolz>&lol9;</lolz>"
)

PAGES: dict[str, tuple[Callable[[], bytes], frozenset[str]]] = {
    "nested-200k": (lambda: b"<div>" * 200_000 + b"x", frozenset({"partly_parsed"})),
    "nested-below-the-guess": (lambda: b"<div>" * 12_000 + b"x", READ),
    "nested-bold-in-tables": (lambda: b"<table><b><p>" * 20_000, READ | {"timed_out"}),
    "attributes-200k": (
        lambda: b"<p " + b" ".join(b"a%d=1" % n for n in range(200_000)) + b">x",
        frozenset({"partly_parsed"}),
    ),
    "links-1m": (
        lambda: b"".join(b"<a href=/%d>x" % n for n in range(1_000_000))[: 10 << 20],
        READ | {"timed_out", "out_of_memory"},
    ),
    "links-of-100k": (lambda: b"".join(b"<a href='/%s'>x</a>" % (b"y" * 100_000) for _ in range(50)), READ),
    "text-10mb": (lambda: b"<p>" + b"word " * 2_000_000, READ),
    "one-line-10mb": (lambda: b"x" * (10 << 20), READ),
    "spaces-10mb": (lambda: b"<p>a" + b" \n" * 5_000_000 + b"b", READ),
    "nul-everywhere": (lambda: b"<p>" + b"a\0b" * 10 + b"word " * 1_000, READ),
    "only-nul": (lambda: b"\0" * 100_000, frozenset({"unsupported"})),
    "openings": (lambda: b"<" * 1_000_000, READ | {"timed_out"}),
    "comment-without-end": (lambda: b"<!--" + b"-" * 1_000_000, READ | {"empty"}),
    "script-without-end": (lambda: b"<script>" + b"x" * 1_000_000, READ),
    "entities": (lambda: b"&amp;" * 500_000, READ),
    "references-to-nothing": (lambda: b"&#xD800;&#0;&#x110000;" * 10_000, READ),
    "billion-laughs": (lambda: LAUGHS, READ),
    "external-entity": (
        lambda: b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/hostname">]><x>&e;</x>',
        READ,
    ),
    "metas-100k": (lambda: b"<meta name=a content=b>" * 100_000, READ),
    "base-of-nothing": (lambda: b"<base href='http://[::1'><a href=x>y</a>", READ),
    "formatting-reopened": (
        lambda: b"<b><i><u><s>" * 2_000 + b"<p>x" * 2_000,
        READ | {"timed_out", "out_of_memory"},
    ),
}

ITSELF = b"/Font << /F1 3 0 R >> /XObject << /X 7 0 R >>"
FORM = b"/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << " + ITSELF + b" >> "

PDFS: dict[str, tuple[Callable[[], bytes], frozenset[str]]] = {
    "pdf-40mb-in-40kb": (lambda: a_pdf(streams=[packed(b"0 " * 20_000_000)]), frozenset({"partly_parsed"})),
    "pdf-bomb-within-a-bomb": (
        lambda: a_pdf(
            streams=[
                stream(
                    zlib.compress(zlib.compress(b" " * 40_000_000)), b"/Filter [/FlateDecode /FlateDecode] "
                )
            ]
        ),
        frozenset({"partly_parsed"}),
    ),
    "pdf-tree-of-itself": (
        lambda: a_pdf().replace(b"/Kids [5 0 R]", b"/Kids [2 0 R]"),
        READ | {"malformed", "decode_bomb"},
    ),
    "pdf-form-of-itself": (
        lambda: a_pdf(
            streams=[stream(b"/X Do " * 50)], resources=ITSELF, further=[stream(b"/X Do /X Do", FORM)]
        ),
        READ | {"timed_out"},
    ),
    "pdf-1m-operators": (lambda: a_pdf(streams=[packed(b"0 0 m " * 1_000_000)]), READ | {"timed_out"}),
    "pdf-of-5000-pages": (lambda: a_pdf(["Walking on streams."] * 5_000), READ | {"timed_out"}),
    "pdf-locked": (lambda: locked(a_pdf(), password="x"), frozenset({"unsupported"})),
    "pdf-cut": (lambda: a_pdf(["x"] * 20)[:2_000], READ | {"malformed"}),
    "pdf-of-zeros": (lambda: b"%PDF-1.7\n" + b"\0" * (9 << 20), frozenset({"malformed", "timed_out"})),
    "pdf-of-beginnings": (
        lambda: b"%PDF-1.7\n" + b"1 0 obj\n<< " * 500_000 + b"startxref\n0\n%%EOF",
        frozenset({"malformed", "timed_out", "out_of_memory", "decode_bomb"}),
    ),
    "pdf-nested-arrays": (
        lambda: a_pdf(catalog=b"<< /Type /Catalog /Pages 2 0 R /Lang " + b"[" * 100_000 + b" >>"),
        READ | {"malformed", "timed_out", "crashed", "decode_bomb"},
    ),
}


@asynccontextmanager
async def one_worker() -> AsyncIterator[ParserWorkerPool]:
    parsers = ParserWorkerPool(
        WorkerConfig(
            parent_pid=os.getpid(),
            limits=ParseLimits(pdf_seconds=0.5),
            page_seconds=1.0,
            memory_mb=512,
            has_object_store=True,
        ),
        CODEC,
        workers=1,
        clock=SystemClock(),
        environ=dict(os.environ),
    )
    try:
        await parsers.start()
        yield parsers
    finally:
        await parsers.close()


async def read(parsers: ParserWorkerPool, body: bytes) -> PageParsed:
    page = a_page(b"", body_object="2026-11-18/ab/abcd")
    encoded = CODEC.encode(PAGES_FETCHED, page)
    parsed = await parsers.parse(page, ARecord(encoded.value, encoded.headers), body)
    return parsed.event if parsed.encoded is None else CODEC.decode(PAGES_PARSED, *parsed.encoded)


@pytest.mark.fault("S13", "S22", "S7")
async def test_every_hostile_page_has_its_outcome() -> None:
    """In sequence, so that each one shows that the one before left no damage."""
    wrong: dict[str, str] = {}
    async with asyncio.timeout(100), one_worker() as parsers:
        for name, (make, outcomes) in {**PAGES, **PDFS}.items():
            page = await read(parsers, make())
            size = len(CODEC.encode(PAGES_PARSED, page).value)
            if page.outcome not in outcomes or size > PAGES_PARSED.max_bytes or len(page.link_urls) > 1_000:
                wrong[name] = f"{page.outcome}, {size} bytes, {len(page.link_urls)} links"
            if (await read(parsers, b"<title>fine</title><p>x")).title != "fine":
                wrong[name] = "the next page is not read"

    assert wrong == {}


@pytest.mark.fault("S14", part="entities and external documents")
async def test_an_entity_brings_nothing_in() -> None:
    """No file is read and no entity expands, whatever a document declares."""
    async with one_worker() as parsers:
        laughs = await read(parsers, LAUGHS)
        external = await read(parsers, PAGES["external-entity"][0]())

    assert laughs.text_chars < len(LAUGHS)
    assert "lollol" not in laughs.text
    assert "&e;" in external.text
