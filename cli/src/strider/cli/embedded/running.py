"""A crawl as a command: opens what it needs, shows how far it is, and ends with the right code.

Decides exit codes and what is said to people; says everything but lines on standard error, so that
lines can be piped.
"""

from __future__ import annotations

import asyncio
import gc
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Final, TextIO

import uvloop

from strider.runtime.observability.logging import configure_logs

from .crawl import Crawl, CrawlFailed, End
from .further import FURTHER
from .members import Manners
from .output import Output, OutputFailed, written
from .showing import Show, say, warnings
from .state import Saved, State, StateFailed
from .summary import render_json, render_text
from .wish import BadWish, Wish

GARBAGE_OBJECTS: Final = 100_000
"""So many more objects than before are there before some are looked at."""

EXIT_DONE: Final = 0
EXIT_NOTHING: Final = 1
EXIT_SIGNAL: Final = 128
"""Plus the number of the signal: 130 for Ctrl-C."""


@dataclass(frozen=True, slots=True)
class Order:
    """What the command line asks for."""

    wish: Wish
    manners: Manners
    output: Path | None
    form: str
    resume: Path | None
    max_seconds: int
    only_pages: bool
    as_json: bool
    is_quiet: bool

    @property
    def output_name(self) -> str:
        """Name the output as the state file knows it."""
        return str(self.output.absolute()) if self.output else ""


@dataclass(slots=True)
class Desk:
    """What a crawl works with besides its order."""

    folder: str
    state: State | None = None
    saved: Saved | None = None
    on_killed: Callable[[], object] = lambda: None
    """Called before the process ends at once."""
    stopped_by: int = 0
    """The signal that has ended the crawl; 0 for none."""


def run_crawl(order: Order) -> int:
    """Crawl, and give the exit code; raises BadWish before anything is done."""
    configure_logs("crawl", stream=sys.stderr, level="error", console=True, colors=sys.stderr.isatty())
    if order.resume is not None:
        _check_resumable(order.resume, order.output)
    for warning in warnings(order.wish, order.manners.crawl):
        say(f"warning: {warning}")
    if order.resume is None:
        return _crawl_unsaved(order)
    state = State(order.resume, order.wish, output=order.output_name, form=order.form)
    is_complete = False
    try:
        saved = state.saved()
        if saved is not None:
            saved.check(order.wish, output=order.output_name, form=order.form)
            if saved.is_complete:
                is_complete = True
                say("this crawl is complete; nothing is left to do")
                return EXIT_DONE
        code, is_complete = _crawl(order, Desk(str(state.objects_folder.absolute()), state, saved))
    finally:
        state.close(is_complete=is_complete)
    return code


def _check_resumable(resume: Path, output: Path | None) -> None:
    if output is None:
        raise BadWish("--resume needs an output file (-o), which is cut back to where the crawl was saved")
    if resume.resolve() == output.resolve():
        raise BadWish("--resume and -o are one file; name two files")
    if output.exists() and not output.is_file():
        raise BadWish(f"-o: {output} cannot be cut back, so --resume cannot go on with it")


def _crawl_unsaved(order: Order) -> int:
    folder = tempfile.mkdtemp(prefix="strider-crawl-")
    remove = partial(shutil.rmtree, folder, ignore_errors=True)
    try:
        return _crawl(order, Desk(folder, on_killed=remove))[0]
    finally:
        remove()


def _crawl(order: Order, desk: Desk) -> tuple[int, bool]:
    """Give the exit code, and whether the crawl is complete."""
    began = monotonic()
    try:
        output = _output(order, desk.saved)
    except OutputFailed as failure:
        raise BadWish(f"-o: {failure}") from failure
    _spare_the_collector()
    try:
        end, crawl = uvloop.run(_run(order, output, desk))
        output.close()
    except (OutputFailed, StateFailed, CrawlFailed) as failure:
        say(f"strider crawl: {failure}")
        if desk.state is not None:
            say("what was saved before stays; the same command goes on from there")
        return EXIT_NOTHING, False
    _tell(order, crawl, end, monotonic() - began)
    if end is End.STOPPED and desk.state is not None:
        say(f"saved in {desk.state.path}; the same command goes on from here")
    if desk.stopped_by:
        return EXIT_SIGNAL + desk.stopped_by, False
    return EXIT_NOTHING if crawl.sink.tally.is_fruitless else EXIT_DONE, end is End.COMPLETE


def _spare_the_collector() -> None:
    """Look for garbage rarely: nearly all of it goes by itself, and a look at all there is costs much."""
    gc.freeze()
    gc.set_threshold(GARBAGE_OBJECTS, 10, 50)
    gc.enable()


def _tell(order: Order, crawl: Crawl, end: End, seconds: float) -> None:
    if order.is_quiet:
        return
    tally, given_up = crawl.sink.tally, crawl.dead_letters
    if order.as_json:
        text = render_json(tally, seconds, end.value, given_up=given_up)
        with suppress(BrokenPipeError):
            print(text, file=_summary_stream(order), flush=True)
    else:
        say(render_text(tally, seconds, is_complete=end is End.COMPLETE, given_up=given_up))


def _summary_stream(order: Order) -> TextIO:
    return sys.stdout if order.output else sys.stderr


def _output(order: Order, saved: Saved | None) -> Output:
    further = FURTHER[order.wish.spec.extraction]
    if order.output is None:
        return Output.to_stream(sys.stdout.fileno(), order.form, further)
    if saved is not None:
        if not order.output.exists():
            raise BadWish(
                f"-o: {order.output} is gone, and what is saved in {order.resume} belongs to it; "
                f"to begin anew, delete {order.resume} as well, or name another file with --resume"
            )
        return Output.resume(order.output, order.form, saved.length, further)
    return Output.create(order.output, order.form, further)


async def _run(order: Order, output: Output, desk: Desk) -> tuple[End, Crawl]:
    crawl = Crawl(order.wish, order.manners, output, objects_folder=desk.folder, only_pages=order.only_pages)
    if desk.state is not None and desk.saved is not None and order.output is not None:
        desk.state.restore_sink(crawl.sink)
        for line in written(order.output, order.form, desk.saved.length):
            crawl.sink.know(line)
    # Lines on the same terminal would run into it.
    has_terminal = sys.stderr.isatty() and not (order.output is None and sys.stdout.isatty())
    show = Show(is_wanted=has_terminal and not order.is_quiet)
    with _signals(crawl, desk), _deadline(crawl, order.max_seconds):
        try:
            end = await crawl.run(state=desk.state, on_progress=show)
        finally:
            show.clear()
            await crawl.close()
    return end, crawl


@contextmanager
def _signals(crawl: Crawl, desk: Desk) -> Iterator[None]:
    """The first Ctrl-C ends in order, the second at once."""
    loop = asyncio.get_running_loop()

    def hear(number: int) -> None:
        if desk.stopped_by:
            desk.on_killed()
            os._exit(EXIT_SIGNAL + number)
        desk.stopped_by = number
        say("stopping; what is in hand is finished first (again to end at once)")
        crawl.request_stop()

    wanted = (signal.SIGINT, signal.SIGTERM)
    for number in wanted:
        loop.add_signal_handler(number, hear, number)
    try:
        yield
    finally:
        for number in wanted:
            loop.remove_signal_handler(number)


@contextmanager
def _deadline(crawl: Crawl, seconds: int) -> Iterator[None]:
    timer = asyncio.get_running_loop().call_later(seconds, crawl.request_stop) if seconds else None
    try:
        yield
    finally:
        if timer is not None:
            timer.cancel()
