"""A crawl as a command: opens what it needs, shows how far it is, and ends with the right code.

Decides exit codes and what is said to people; says everything but lines on standard error, so that
lines can be piped.
"""

from __future__ import annotations

import asyncio
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Final, TextIO

import uvloop

from strider.runtime.logs import configure_logs
from strider.urls import PUBLIC, host, host_kind

from .crawl import Crawl, End, Progress
from .members import Manners
from .output import Output, OutputFailed, written
from .state import Saved, State
from .summary import render_json, render_text
from .wish import BadWish, Wish

EXIT_DONE: Final = 0
EXIT_NOTHING: Final = 1
EXIT_INTERRUPTED: Final = 130

USUAL_DELAY_SECONDS: Final = 1.0


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


def run_crawl(order: Order) -> int:
    """Crawl, and give the exit code; raises BadWish before anything is done."""
    configure_logs("crawl", stream=sys.stderr, level="error", console=True, colors=sys.stderr.isatty())
    if order.resume is not None and order.output is None:
        raise BadWish("--resume needs an output file (-o), which is cut back to where the crawl was saved")
    for warning in _warnings(order):
        say(f"warning: {warning}")
    with ExitStack() as stack:
        state = _opened(order, stack)
        saved = state.saved() if state else None
        if saved is not None:
            saved.check(order.wish, output=order.output_name, form=order.form)
            if saved.is_complete:
                say("this crawl is complete; nothing is left to do")
                return EXIT_DONE
        folder = str(state.objects_folder.absolute()) if state else _scratch(stack)
        return _crawl(order, state, saved, folder)


def _opened(order: Order, stack: ExitStack) -> State | None:
    if order.resume is None:
        return None
    state = State(order.resume)
    stack.callback(state.close)
    return state


def _scratch(stack: ExitStack) -> str:
    return stack.enter_context(tempfile.TemporaryDirectory(prefix="strider-crawl-"))


def _crawl(order: Order, state: State | None, saved: Saved | None, folder: str) -> int:
    began = monotonic()
    try:
        output = _output(order, saved)
        end, crawl = uvloop.run(_run(order, output, state, saved, folder))
    except OutputFailed as failure:
        say(f"strider crawl: {failure}")
        return EXIT_NOTHING
    tally = crawl.sink.tally
    if not order.is_quiet:
        seconds = monotonic() - began
        if order.as_json:
            print(render_json(tally, seconds, end.value), file=_summary_stream(order))
        else:
            say(render_text(tally, seconds, is_complete=end is End.COMPLETE))
    if end is End.STOPPED:
        if state is not None:
            say(f"saved; the same command goes on from here (--resume {state.path})")
        return EXIT_INTERRUPTED
    return EXIT_DONE if tally.pages or tally.outcomes["rejected"] else EXIT_NOTHING


def _summary_stream(order: Order) -> TextIO:
    return sys.stdout if order.output else sys.stderr


def _output(order: Order, saved: Saved | None) -> Output:
    if order.output is None:
        return Output.to_stream(sys.stdout.buffer, order.form)
    if saved is not None:
        return Output.resume(order.output, order.form, saved.length)
    return Output.create(order.output, order.form)


async def _run(
    order: Order, output: Output, state: State | None, saved: Saved | None, folder: str
) -> tuple[End, Crawl]:
    crawl = Crawl(order.wish, order.manners, output, objects_folder=folder, only_pages=order.only_pages)
    if state is not None and saved is not None and order.output is not None:
        for url, outcome, reason in written(order.output, order.form, saved.length):
            crawl.sink.know(url, outcome, reason)
        crawl.sink.remember(state.notes())
    about = saved or Saved("", order.output_name, order.form, 0, "", is_complete=False)
    show = _Show(is_wanted=not order.is_quiet and sys.stderr.isatty())
    with _signals(crawl), _deadline(crawl, order.max_seconds):
        try:
            end = await crawl.run(state=state, about=about, on_progress=show)
        finally:
            show.clear()
            await crawl.close()
    return end, crawl


@contextmanager
def _signals(crawl: Crawl) -> Iterator[None]:
    """The first Ctrl-C ends in order, the second at once."""
    loop = asyncio.get_running_loop()
    heard: list[int] = []

    def hear(number: int) -> None:
        heard.append(number)
        if len(heard) > 1:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
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


class _Show:
    """The line of progress, on a terminal only."""

    def __init__(self, *, is_wanted: bool) -> None:
        self._is_wanted = is_wanted
        self._began = monotonic()

    def __call__(self, progress: Progress) -> None:
        if not self._is_wanted:
            return
        rate = progress.pages / max(monotonic() - self._began, 0.001)
        text = (
            f"{progress.pages} pages  {rate:.1f}/s  {progress.queued} queued  "
            f"{progress.in_flight} in flight  {progress.errors} errors  {progress.waiting} hosts waiting"
        )
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()

    def clear(self) -> None:
        if self._is_wanted:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def _warnings(order: Order) -> Iterator[str]:
    crawl = order.manners.crawl
    is_public = any(host_kind(host(seed)) == PUBLIC for seed in order.wish.seeds)
    names = {host(seed) for seed in order.wish.seeds}
    is_outside = is_public or any(not name.endswith("localhost") and name[:1].isalpha() for name in names)
    if not order.wish.spec.respect_robots:
        yield "robots.txt is ignored (--ignore-robots); do this only on sites of your own"
    if is_outside and crawl.host_delay_seconds < USUAL_DELAY_SECONDS:
        yield f"{crawl.host_delay_seconds:g} s between two requests to a host is less than sites usually bear"
    if is_outside and not (crawl.contact or crawl.user_agent):
        yield "sites cannot tell whom to write to; say --contact"


def say(text: str) -> None:
    """Tell people."""
    with suppress(BrokenPipeError):
        print(text, file=sys.stderr, flush=True)
