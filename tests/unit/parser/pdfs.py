"""Small PDFs, written by hand so that a test can break any part of one."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from io import BytesIO

from pypdf import PdfReader, PdfWriter

CATALOG = b"<< /Type /Catalog /Pages 2 0 R /Lang (de-at) >>"
FONT = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"


def a_pdf(
    pages: Sequence[str] = ("Walking on streams.",),
    *,
    title: str = "A paper",
    links: Sequence[str] = (),
    catalog: bytes = CATALOG,
    streams: Sequence[bytes] | None = None,
    resources: bytes = b"/Font << /F1 3 0 R >>",
    further: Sequence[bytes] = (),
) -> bytes:
    """Make a document with a line of text on each page, and all links on the first.

    Its pages are objects 5, 7 and so on, what is drawn on them 6, 8 and so on; `further` ones come behind.
    """
    drawn = streams or [stream(f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET".encode("latin-1")) for text in pages]
    kids = b" ".join(b"%d 0 R" % (5 + 2 * number) for number in range(len(drawn)))
    objects = [
        catalog,
        b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, len(drawn)),
        FONT,
        b"<< /Title (%s) /Author (J. Doe) >>" % title.encode("latin-1"),
    ]
    for number, content in enumerate(drawn):
        notes = b"/Annots [%s]" % b" ".join(map(_link, links)) if not number and links else b""
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R"
            b" /Resources << %s >> %s >>" % (6 + 2 * number, resources, notes)
        )
        objects.append(content)
    return _put_together([*objects, *further])


def _link(url: str) -> bytes:
    return b"<< /Type /Annot /Subtype /Link /Rect [0 0 9 9] /A << /S /URI /URI (%s) >> >>" % url.encode()


def stream(content: bytes, further: bytes = b"") -> bytes:
    """Make a stream as an object has it."""
    return b"<< /Length %d %s>>\nstream\n%s\nendstream" % (len(content), further, content)


def packed(content: bytes) -> bytes:
    """Make a stream that is deflated."""
    return stream(zlib.compress(content, 9), b"/Filter /FlateDecode ")


def _put_together(objects: Sequence[bytes]) -> bytes:
    written, places = b"%PDF-1.7\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(written))
        written += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    rows = b"".join(b"%010d 00000 n \n" % place for place in places)
    size = len(objects) + 1
    table = b"xref\n0 %d\n0000000000 65535 f \n%s" % (size, rows)
    trailer = b"trailer\n<< /Size %d /Root 1 0 R /Info 4 0 R >>\n" % size
    return written + table + trailer + b"startxref\n%d\n%%%%EOF\n" % len(written)


def locked(document: bytes, *, password: str) -> bytes:
    """Encrypt a document; with an empty password every reader may open it."""
    writer = PdfWriter(clone_from=PdfReader(BytesIO(document)))
    writer.encrypt(user_password=password, owner_password="owner", algorithm="AES-256")
    written = BytesIO()
    writer.write(written)
    return written.getvalue()
