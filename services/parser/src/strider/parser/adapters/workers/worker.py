"""Worker process: parse the pages that the parent sends until the parent exits.

It serves one parent over two sockets (requests are its standard input), knows neither broker nor stores,
and has an environment without secrets. A page that takes too much processor time ends the process by its
own timer, even inside C code; memory is limited by the kernel. The parent finds the reason of its exit.
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
import time
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
"""Pages between two checks of the worker's own memory."""

RECYCLE_MEMORY_SHARE: Final = 0.6
"""Share of the memory limit above which a worker exits between pages and is replaced."""

RECYCLE_MEMORY_MB: Final = 200
"""The same as an absolute size, whatever the limit of one page is."""

GC_THRESHOLD_OBJECTS: Final = 50_000
"""A page makes tens of thousands of objects and few cycles: the default of 700 costs 5 % of the time."""

PR_SET_PDEATHSIG: Final = 1

RESPONSES_FD: Final = 3
"""File descriptor of the worker's socket for responses."""


@dataclass(frozen=True, slots=True)
class WorkerConfig:
    """Configuration of a worker, passed as JSON on its command line."""

    parent_pid: int
    limits: ParseLimits = field(default_factory=ParseLimits)
    page_seconds: float = 2.0
    """Processor time for one page."""
    memory_mb: int = 512
    has_object_store: bool = False
    reader_factory: str = "strider.parser.adapters.page_reader:make_reader"
    """`module:function` that makes a page reader from the limits."""

    def to_json(self) -> str:
        """Return the configuration as JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> WorkerConfig:
        """Return the configuration in a JSON text."""
        values: dict[str, Any] = json.loads(text)
        return cls(**{**values, "limits": ParseLimits(**values["limits"])})


def main() -> int:
    """Parse pages until the parent exits."""
    config = WorkerConfig.from_json(sys.argv[1])
    if not _die_with_parent(config.parent_pid):
        return 0
    # Ctrl-C and SIGTERM of a supervisor reach the whole process group; the parent decides when to stop.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    module, _, name = config.reader_factory.partition(":")
    make_reader: Callable[[ParseLimits], PageReader] = getattr(import_module(module), name)
    worker = ParserWorker(config, make_reader(config.limits))
    limit = config.memory_mb * MIB
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    gc.freeze()
    gc.set_threshold(GC_THRESHOLD_OBJECTS)
    with socket.socket(fileno=0) as requests, socket.socket(fileno=RESPONSES_FD) as responses:
        return worker.serve(WorkerPipe(requests, responses))


class ParserWorker:
    """Parses one page after the other."""

    def __init__(self, config: WorkerConfig, read: PageReader) -> None:
        self._config = config
        self._read = read
        self._codec = Codec(SchemaStore.bundled())

    def serve(self, pipe: WorkerPipe) -> int:
        """Respond to requests until the parent is gone or memory is due to be released."""
        try:
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            pipe.send_response(WorkerResponse(READY, event=str(peak).encode()))
            pages = 0
            while (request := pipe.receive_request()) is not None:
                for response in self._respond(request):
                    pipe.send_response(response)
                pages += 1
                if pages % MEMORY_CHECK_PAGES == 0 and self._is_over_memory():
                    pipe.send_response(WorkerResponse(RECYCLING))
                    pipe.notify_parent()
                    return 0
        except (BrokenPipeError, ConnectionResetError):
            return 0
        return 0

    def _respond(self, request: bytes) -> list[WorkerResponse]:
        began = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, self._config.page_seconds)
        try:
            *parts, last = self._parse(decode_request(request))
            return [*parts, last._replace(cost_us=round(1e6 * (time.process_time() - began)))]
        except Exception:  # noqa: BLE001  # reported to the parent, which rejects the message
            return [WorkerResponse(FAILED, event=traceback.format_exc()[-8_192:].encode("utf-8", "replace"))]
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)

    def _parse(self, request: ParseRequest) -> list[WorkerResponse]:
        page = self._codec.decode(PAGES_FETCHED, request.event)
        read = self._read(page, request.body or page.body, request.options)
        fitted = fit_event(read, may_store=self._config.has_object_store)
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
            return False  # not Linux: the kernel's limit remains
        return resident > min(RECYCLE_MEMORY_SHARE * self._config.memory_mb, RECYCLE_MEMORY_MB) * MIB


def _die_with_parent(parent: int) -> bool:
    """Have the kernel kill this process with its parent; return False where the parent is gone already.

    On other systems a worker notices its parent's exit when it next receives.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    return os.getppid() == parent


if __name__ == "__main__":
    sys.exit(main())
