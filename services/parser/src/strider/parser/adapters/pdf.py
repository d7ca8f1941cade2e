"""Read PDF files through pypdf, where it is installed (`strider-parser[pdf]`).

Input is untrusted: the size that a document expands to is bounded by the library's own limits, made smaller;
a broken page is skipped; everything else is bounded by the deadline and the memory of the worker. Nothing is
fetched and no program is started. The library is imported with the first document: most crawls have none.
"""

from __future__ import annotations

import logging
import signal
import time
from collections.abc import Iterator
from functools import cache
from io import BytesIO
from types import ModuleType
from typing import Any, Final

from strider.contracts.generated.enums import ParseOutcome
from strider.parser.core.document.pdf import PdfExtract, pdf_unsupported
from strider.parser.core.unreadable_pages import ParseFailure

MIB: Final = 1024 * 1024
MAX_TEXT_CHARS: Final = 4 * MIB
MAX_HREFS: Final = 20_000
MAX_STREAM_BYTES: Final = 16 * MIB
"""Largest decoded stream: the text of the longest page is a thousandth of it."""

_STREAMS: Final = ("zlib", "lzw", "run_length", "brotli", "jbig2", "array_based_stream")
_LIMITS: Final = {
    **{f"{name}_maximum_output_length": MAX_STREAM_BYTES for name in _STREAMS},
    "maximum_declared_stream_length": MAX_STREAM_BYTES,
    "stream_decoding_work_maximum_length": 4 * MAX_STREAM_BYTES,
    "page_tree_maximum_entries": 20_000,
    "jbig2dec_binary": None,
}


def read_pdf(content: bytes, seconds: float) -> PdfExtract | ParseFailure:
    """Read a document; after `seconds` of processor time no further page of it is started."""
    try:
        pypdf = _load_pypdf()
    except ImportError:
        return pdf_unsupported(content, seconds)
    errors = pypdf.errors
    try:
        with pypdf.apply_configuration(**_LIMITS):
            return _read(pypdf, content, until=time.thread_time() + seconds)
    except MemoryError:
        raise
    except (errors.FileNotDecryptedError, errors.DependencyError) as failure:
        return ParseFailure(ParseOutcome.UNSUPPORTED, f"encrypted: {failure}")
    except errors.LimitReachedError as failure:
        return ParseFailure(ParseOutcome.DECODE_BOMB, str(failure))
    except Exception as failure:  # noqa: BLE001  # strangers' bytes may raise anything within the library
        return ParseFailure(ParseOutcome.MALFORMED, f"{type(failure).__name__}: {failure}")


@cache
def _load_pypdf() -> ModuleType:
    """Import the library; the time that it takes does not count as a page's."""
    left, _ = signal.setitimer(signal.ITIMER_PROF, 0)
    try:
        import pypdf  # noqa: PLC0415  # costs every worker more than all else that it loads
        import pypdf.errors  # noqa: PLC0415
    finally:
        if left:
            signal.setitimer(signal.ITIMER_PROF, left)
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # it warns of every oddity
    return pypdf


def _read(pypdf: ModuleType, content: bytes, *, until: float) -> PdfExtract:
    reader = pypdf.PdfReader(BytesIO(content))
    if reader.is_encrypted and not reader.decrypt(""):
        raise pypdf.errors.FileNotDecryptedError("a password is required")
    metadata = reader.metadata or {}
    lines: list[str] = []
    hrefs: list[str] = []
    is_whole, chars = True, 0
    for page in _pages(reader):
        if page is None or time.thread_time() > until or chars > MAX_TEXT_CHARS:
            is_whole = False
            if page is None:
                continue
            break
        try:
            found = [" ".join(line.split()) for line in page.extract_text().splitlines()]
            hrefs.extend(_page_hrefs(page))
        except MemoryError:
            raise
        except Exception:  # noqa: BLE001  # a broken page costs itself
            is_whole = False
            continue
        lines.extend(filter(None, found))
        chars += sum(map(len, found))
    return PdfExtract(
        title=str(metadata.get("/Title") or ""),
        author=str(metadata.get("/Author") or ""),
        language=str(reader.root_object.get("/Lang") or ""),
        text="\n".join(lines)[:MAX_TEXT_CHARS],
        hrefs=hrefs[:MAX_HREFS],
        is_whole=is_whole,
    )


def _pages(reader: Any) -> Iterator[Any]:
    """Yield each page; None for one that cannot be found."""
    for number in range(len(reader.pages)):
        try:
            yield reader.pages[number]
        except (KeyError, IndexError, TypeError, AttributeError):
            yield None


def _page_hrefs(page: Any) -> Iterator[str]:
    """Yield the targets of the page's links that lead outside of the document."""
    annotations = page.get("/Annots")
    if annotations is None:
        return
    for one in annotations.get_object():
        action = one.get_object().get("/A")
        uri = action.get_object().get("/URI") if action is not None else None
        if uri is not None:
            yield uri.decode("utf-8", "replace") if isinstance(uri, bytes) else str(uri)
