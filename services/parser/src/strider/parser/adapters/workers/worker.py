"""A worker process: reads pages that its parser hands it, until the parser is gone.

It works for one parent over two sockets (requests are its standard input), knows neither broker nor
stores, and has an environment without secrets. A page that takes too much processor time ends the
process by its own timer, whatever C code it hangs in; memory is limited by the kernel. Who is to
blame for its end is found out by the parent.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import resource
import signal
import socket
import sys
import traceback
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.topics import PAGES_FETCHED, PAGES_PARSED
from strider.parser.adapters.page_reader import PageReader
from strider.parser.core import ParseLimits, fit_event
from strider.parser.core.site_parser_fields import attribute_parser, format_attribution

from .pipe import WorkerPipe
from .protocol import (
    FAILED,
    PARSED,
    PARSED_PART,
    PARSED_WITH_TEXTS,
    READY,
    RECYCLING,
    ParseRequest,
    WorkerResponse,
    decode_request,
)

MIB: Final = 1024 * 1024
MEMORY_CHECK_PAGES: Final = 64
"""How often the worker looks at its own size."""

RECYCLE_MEMORY_SHARE: Final = 0.6
"""Of the memory limit: a worker that has grown so far between pages ends and is replaced."""

RECYCLE_MEMORY_MB: Final = 200
"""What none may keep between pages, however much one page may need."""

GC_THRESHOLD_OBJECTS: Final = 50_000
"""A page makes tens of thousands of objects and few circles: looking at each 700 costs a twentieth."""

PR_SET_PDEATHSIG: Final = 1

RESPONSES_FD: Final = 3
"""Where a worker finds the socket for its answers."""


@dataclass(frozen=True, slots=True)
class WorkerConfig:
    """What a worker is told when it starts."""

    parent_pid: int
    limits: ParseLimits = field(default_factory=ParseLimits)
    page_seconds: float = 2.0
    """Processor time for one page."""
    memory_mb: int = 512
    has_object_store: bool = False
    reader_factory: str = "strider.parser.adapters.page_reader:make_reader"
    """What makes the function that reads a page from its limits."""

    def to_json(self) -> str:
        """Write the orders down."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> WorkerConfig:
        """Read orders."""
        told: dict[str, Any] = json.loads(text)
        return cls(**{**told, "limits": ParseLimits(**told["limits"])})


def main() -> int:
    """Work until the parent goes."""
    orders = WorkerConfig.from_json(sys.argv[1])
    if not _die_with_parent(orders.parent_pid):
        return 0
    # A terminal's Ctrl-C and a supervisor's SIGTERM reach the whole group; the parent decides when to end.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    module, _, name = orders.reader_factory.partition(":")
    make_reader: Callable[[ParseLimits], PageReader] = getattr(import_module(module), name)
    worker = ParserWorker(orders, make_reader(orders.limits))
    limit = orders.memory_mb * MIB
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    gc.freeze()
    gc.set_threshold(GC_THRESHOLD_OBJECTS)
    with socket.socket(fileno=0) as requests, socket.socket(fileno=RESPONSES_FD) as answers:
        return worker.serve(WorkerPipe(requests, answers))


class ParserWorker:
    """Reads page after page."""

    def __init__(self, orders: WorkerConfig, read: PageReader) -> None:
        self._orders = orders
        self._read = read
        self._codec = Codec(SchemaStore.bundled())

    def serve(self, pipe: WorkerPipe) -> int:
        """Answer requests until there is nobody left to answer."""
        try:
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            pipe.send_response(WorkerResponse(READY, event=str(peak).encode()))
            done = 0
            while (request := pipe.receive_request()) is not None:
                for answer in self._answers(request):
                    pipe.send_response(answer)
                done += 1
                if done % MEMORY_CHECK_PAGES == 0 and self._is_over_memory():
                    pipe.send_response(WorkerResponse(RECYCLING))
                    pipe.notify_parent()
                    return 0
        except (BrokenPipeError, ConnectionResetError):
            return 0
        return 0

    def _answers(self, request: bytes) -> list[WorkerResponse]:
        signal.setitimer(signal.ITIMER_PROF, self._orders.page_seconds)
        try:
            return self._parse(decode_request(request))
        except Exception:  # noqa: BLE001  # told to the parent, which gives the message up
            return [WorkerResponse(FAILED, event=traceback.format_exc()[-8_192:].encode("utf-8", "replace"))]
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)

    def _parse(self, request: ParseRequest) -> list[WorkerResponse]:
        page = self._codec.decode(PAGES_FETCHED, request.event)
        read = self._read(page, request.body or page.body, request.extraction)
        fitted = fit_event(read, may_store=self._orders.has_object_store)
        parsed = self._codec.encode(PAGES_PARSED, fitted.event).value
        kind = PARSED_WITH_TEXTS if fitted.texts else PARSED
        parts = [
            WorkerResponse(PARSED_PART, part.outcome, self._codec.encode(PAGES_PARSED, part).value)
            for part in fitted.preceding_parts
        ]
        last = WorkerResponse(
            kind, fitted.event.outcome, parsed, fitted.texts, format_attribution(attribute_parser(read))
        )
        return [*parts, last]

    def _is_over_memory(self) -> bool:
        try:
            resident = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
        except (OSError, ValueError, IndexError):
            return False  # no such file on this system: the kernel's limit remains
        return resident > min(RECYCLE_MEMORY_SHARE * self._orders.memory_mb, RECYCLE_MEMORY_MB) * MIB


def _die_with_parent(parent: int) -> bool:
    """Have the kernel end this process with its parent; False where the parent has gone already.

    Without it a worker notices its parent's end when it next reads, which is soon enough elsewhere.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    return os.getppid() == parent


if __name__ == "__main__":
    sys.exit(main())
