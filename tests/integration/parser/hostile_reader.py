"""A page reader that harms its process as the page's path says; other pages are parsed as usual."""

from __future__ import annotations

import ctypes
import os
import signal
import time
from collections.abc import Callable
from urllib.parse import urlsplit

from strider.contracts.generated.events import PageFetched, PageParsed
from strider.parser.adapters import page_reader as pages
from strider.parser.core import DEFAULT_OPTIONS, PageOptions, ParseLimits

HOARD: list[bytearray] = []


def loop_for_ever() -> None:
    while True:
        pass


def sleep_for_ever() -> None:
    time.sleep(3_600)


def take_memory() -> None:
    bytearray(8 << 30)


def hoard_a_little() -> None:
    HOARD.append(bytearray(b"x" * (2 << 20)))


def fail() -> None:
    raise RuntimeError("a fault of the parser")


DEEDS: dict[str, Callable[[], object]] = {
    "/abort": os.abort,
    "/segfault": lambda: ctypes.string_at(0),
    "/exit": lambda: os._exit(3),
    "/loop": loop_for_ever,
    "/sleep": sleep_for_ever,
    "/memory": take_memory,
    "/kill-me": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "/stop-me": lambda: os.kill(os.getpid(), signal.SIGSTOP),
    "/hoard": hoard_a_little,
    "/fail": fail,
}


def make_reader(limits: ParseLimits) -> pages.PageReader:
    usual = pages.make_reader(limits)

    def read(page: PageFetched, body: bytes, options: PageOptions = DEFAULT_OPTIONS) -> PageParsed:
        deed = DEEDS.get(urlsplit(page.url).path)
        if deed is not None:
            deed()
        return usual(page, body, options)

    return pages.guard_reader(read)
