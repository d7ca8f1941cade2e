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
from strider.parser.core import ParseLimits, fit_event
from strider.parser.core.site_parser_fields import attribute_parser, format_attribution

from .frames import FAILED, PARSED, PARSED_LONG, PARSED_PART, READY, RESTING, Answer, Request, read_request
from .letterbox import Letterbox
from .pages import Reader

MIB: Final = 1024 * 1024
LOOK_EVERY_PAGES: Final = 64
"""How often the worker looks at its own size."""

SHARE_TO_REST: Final = 0.6
"""Of the memory limit: a worker that has grown so far between pages ends and is replaced."""

REST_AT_MB: Final = 200
"""What none may keep between pages, however much one page may need."""

NEW_OBJECTS_TO_COLLECT: Final = 50_000
"""A page makes tens of thousands of objects and few circles: looking at each 700 costs a twentieth."""

PR_SET_PDEATHSIG: Final = 1

ANSWERS_FD: Final = 3
"""Where a worker finds the socket for its answers."""


@dataclass(frozen=True, slots=True)
class WorkerOrders:
    """What a worker is told when it starts."""

    parent: int
    limits: ParseLimits = field(default_factory=ParseLimits)
    page_seconds: float = 2.0
    """Processor time for one page."""
    memory_mb: int = 512
    may_store: bool = False
    reader: str = "strider.parser.adapters.pages:make_reader"
    """What makes the function that reads a page from its limits."""

    def to_json(self) -> str:
        """Write the orders down."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> WorkerOrders:
        """Read orders."""
        told: dict[str, Any] = json.loads(text)
        return cls(**{**told, "limits": ParseLimits(**told["limits"])})


def main() -> int:
    """Work until the parent goes."""
    orders = WorkerOrders.from_json(sys.argv[1])
    if not _follow_into_death(orders.parent):
        return 0
    # A terminal's Ctrl-C and a supervisor's SIGTERM reach the whole group; the parent decides when to end.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    module, _, name = orders.reader.partition(":")
    make_reader: Callable[[ParseLimits], Reader] = getattr(import_module(module), name)
    worker = Worker(orders, make_reader(orders.limits))
    limit = orders.memory_mb * MIB
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    gc.freeze()
    gc.set_threshold(NEW_OBJECTS_TO_COLLECT)
    with socket.socket(fileno=0) as requests, socket.socket(fileno=ANSWERS_FD) as answers:
        return worker.serve(Letterbox(requests, answers))


class Worker:
    """Reads page after page."""

    def __init__(self, orders: WorkerOrders, read: Reader) -> None:
        self._orders = orders
        self._read = read
        self._codec = Codec(SchemaStore.bundled())

    def serve(self, box: Letterbox) -> int:
        """Answer requests until there is nobody left to answer."""
        try:
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            box.put(Answer(READY, event=str(peak).encode()))
            done = 0
            while (request := box.take()) is not None:
                for answer in self._answers(request):
                    box.put(answer)
                done += 1
                if done % LOOK_EVERY_PAGES == 0 and self._has_grown():
                    box.put(Answer(RESTING))
                    box.ring()
                    return 0
        except (BrokenPipeError, ConnectionResetError):
            return 0
        return 0

    def _answers(self, request: bytes) -> list[Answer]:
        signal.setitimer(signal.ITIMER_PROF, self._orders.page_seconds)
        try:
            return self._parse(read_request(request))
        except Exception:  # noqa: BLE001  # told to the parent, which gives the message up
            return [Answer(FAILED, event=traceback.format_exc()[-8_192:].encode("utf-8", "replace"))]
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)

    def _parse(self, request: Request) -> list[Answer]:
        page = self._codec.decode(PAGES_FETCHED, request.event)
        read = self._read(page, request.body or page.body, request.extraction)
        fitted = fit_event(read, may_store=self._orders.may_store)
        parsed = self._codec.encode(PAGES_PARSED, fitted.event).value
        kind = PARSED_LONG if fitted.texts else PARSED
        parts = [
            Answer(PARSED_PART, part.outcome, self._codec.encode(PAGES_PARSED, part).value)
            for part in fitted.preceding_parts
        ]
        last = Answer(
            kind, fitted.event.outcome, parsed, fitted.texts, format_attribution(attribute_parser(read))
        )
        return [*parts, last]

    def _has_grown(self) -> bool:
        try:
            resident = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
        except (OSError, ValueError, IndexError):
            return False  # no such file on this system: the kernel's limit remains
        return resident > min(SHARE_TO_REST * self._orders.memory_mb, REST_AT_MB) * MIB


def _follow_into_death(parent: int) -> bool:
    """Have the kernel end this process with its parent; False where the parent has gone already.

    Without it a worker notices its parent's end when it next reads, which is soon enough elsewhere.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    return os.getppid() == parent


if __name__ == "__main__":
    sys.exit(main())
