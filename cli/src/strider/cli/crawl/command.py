"""The command `strider crawl`: output, state, progress and exit code.

Prints everything but results on standard error, so that results can be piped.
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
from typing import Final

import uvloop

from strider.cli.exit_codes import CommandExit
from strider.cli.output import log_to_stderr, print_status, print_text, warn

from .output import ResultWriteFailed, ResultWriter, read_results
from .progress import CrawlProgressLine, request_warnings
from .request import BadCrawlRequest, CrawlRequest
from .results import EXTRA_FIELDS
from .runner import CrawlEnd, CrawlFailed, CrawlRunner
from .services import ServiceConfig
from .state import CrawlState, SavedCrawl, StateWriteFailed
from .summary import summary_json, summary_text

GARBAGE_OBJECTS: Final = 100_000
"""New objects before a garbage collection."""

EXIT_SIGNAL: Final = 128
"""Plus the number of the signal: 130 for Ctrl-C."""


@dataclass(frozen=True, slots=True)
class CrawlPlan:
    """Everything that the command line decides about a crawl."""

    request: CrawlRequest
    config: ServiceConfig
    output: Path | None
    output_format: str
    resume: Path | None
    max_seconds: int
    only_pages: bool
    as_json: bool
    is_quiet: bool

    @property
    def output_name(self) -> str:
        """Name of the output in the state file."""
        return str(self.output.absolute()) if self.output else ""


@dataclass(slots=True)
class CrawlSession:
    """Folder, state file and signals of a running crawl."""

    folder: str
    state: CrawlState | None = None
    saved: SavedCrawl | None = None
    before_exit: Callable[[], object] = lambda: None
    """Called before the process exits at once."""
    stopped_by: int = 0
    """Signal that has stopped the crawl; 0 for none."""


def run_plan(plan: CrawlPlan) -> int:
    """Run a crawl, and return the exit code; raises BadCrawlRequest before anything is done."""
    log_to_stderr("error")
    if plan.resume is not None:
        _check_resumable(plan.resume, plan.output)
    for warning in request_warnings(plan.request, plan.config.crawl):
        print_status(f"warning: {warning}")
    if plan.resume is None:
        return _crawl_without_state(plan)
    state = CrawlState(plan.resume, plan.request, output=plan.output_name, output_format=plan.output_format)
    is_complete = False
    try:
        saved = state.load()
        if saved is not None:
            saved.check(plan.request, output=plan.output_name, output_format=plan.output_format)
            if saved.is_complete:
                is_complete = True
                print_status("this crawl is complete; nothing to do")
                return CommandExit.DONE
        code, is_complete = _crawl(plan, CrawlSession(str(state.objects_folder.absolute()), state, saved))
    finally:
        state.close(is_complete=is_complete)
    return code


def _check_resumable(resume: Path, output: Path | None) -> None:
    if output is None:
        raise BadCrawlRequest(
            "--resume needs an output file (-o), which is truncated to where the crawl was saved"
        )
    if resume.resolve() == output.resolve():
        raise BadCrawlRequest("--resume and -o are the same file; name two files")
    if output.exists() and not output.is_file():
        raise BadCrawlRequest(f"-o {output}: is not a regular file, so --resume cannot continue it")


def _crawl_without_state(plan: CrawlPlan) -> int:
    folder = tempfile.mkdtemp(prefix="strider-crawl-")
    remove = partial(shutil.rmtree, folder, ignore_errors=True)
    try:
        return _crawl(plan, CrawlSession(folder, before_exit=remove))[0]
    finally:
        remove()


def _crawl(plan: CrawlPlan, session: CrawlSession) -> tuple[int, bool]:
    """Run the crawl; returns the exit code, and whether it is complete."""
    began = monotonic()
    try:
        output = _open_output(plan, session.saved)
    except ResultWriteFailed as failure:
        raise BadCrawlRequest(f"-o {failure}") from failure
    _relax_garbage_collector()
    try:
        end, crawl = uvloop.run(_run(plan, output, session))
        output.close()
    except (ResultWriteFailed, StateWriteFailed, CrawlFailed) as failure:
        warn(str(failure))
        if session.state is not None:
            print_status("what was saved is kept; the same command continues from there")
        return CommandExit.FAILED, False
    _print_summary(plan, crawl, end, monotonic() - began)
    if end is CrawlEnd.STOPPED and session.state is not None:
        print_status(f"saved in {session.state.path}; the same command continues from here")
    if session.stopped_by:
        return EXIT_SIGNAL + session.stopped_by, False
    return (
        CommandExit.FAILED if crawl.collector.counters.has_no_pages else CommandExit.DONE,
        end is CrawlEnd.COMPLETE,
    )


def _relax_garbage_collector() -> None:
    """Collect garbage rarely: reference counts free nearly all, and a collection is expensive."""
    gc.freeze()
    gc.set_threshold(GARBAGE_OBJECTS, 10, 50)
    gc.enable()


def _print_summary(plan: CrawlPlan, crawl: CrawlRunner, end: CrawlEnd, seconds: float) -> None:
    if plan.is_quiet:
        return
    counters, given_up = crawl.collector.counters, crawl.dead_letters
    if plan.as_json:
        text = summary_json(counters, seconds, end.value, given_up=given_up)
        with suppress(BrokenPipeError):
            print_text(text, stream=sys.stdout if plan.output else sys.stderr, flush=True)
    else:
        print_status(summary_text(counters, seconds, is_complete=end is CrawlEnd.COMPLETE, given_up=given_up))


def _open_output(plan: CrawlPlan, saved: SavedCrawl | None) -> ResultWriter:
    extra = EXTRA_FIELDS[plan.request.spec.extraction]
    if plan.output is None:
        return ResultWriter.to_stream(sys.stdout.fileno(), plan.output_format, extra)
    if saved is not None:
        if not plan.output.exists():
            raise BadCrawlRequest(
                f"-o {plan.output}: is missing, and the state in {plan.resume} belongs to it; "
                f"to start again, delete {plan.resume} as well, or name another file with --resume"
            )
        return ResultWriter.resume(plan.output, plan.output_format, saved.length, extra)
    return ResultWriter.create(plan.output, plan.output_format, extra)


async def _run(plan: CrawlPlan, output: ResultWriter, session: CrawlSession) -> tuple[CrawlEnd, CrawlRunner]:
    crawl = CrawlRunner(
        plan.request, plan.config, output, objects_folder=session.folder, only_pages=plan.only_pages
    )
    if session.state is not None and session.saved is not None and plan.output is not None:
        session.state.restore_collector(crawl.collector)
        for line in read_results(plan.output, plan.output_format, session.saved.length):
            crawl.collector.add_written(line)
    # The output on the same terminal would mix with it.
    has_terminal = sys.stderr.isatty() and not (plan.output is None and sys.stdout.isatty())
    is_shown = has_terminal and not plan.is_quiet
    progress = CrawlProgressLine(is_shown=is_shown)
    with _handle_signals(crawl, session), _deadline(crawl, plan.max_seconds):
        try:
            end = await crawl.run(state=session.state, on_progress=progress if is_shown else None)
        finally:
            progress.clear()
            await crawl.close()
    return end, crawl


@contextmanager
def _handle_signals(crawl: CrawlRunner, session: CrawlSession) -> Iterator[None]:
    """Stop in order on the first Ctrl-C, at once on the second."""
    loop = asyncio.get_running_loop()

    def on_signal(number: int) -> None:
        if session.stopped_by:
            session.before_exit()
            os._exit(EXIT_SIGNAL + number)
        session.stopped_by = number
        print_status("stopping after the requests in flight (press again to stop at once)")
        crawl.request_stop()

    wanted = (signal.SIGINT, signal.SIGTERM)
    for number in wanted:
        loop.add_signal_handler(number, on_signal, number)
    try:
        yield
    finally:
        for number in wanted:
            loop.remove_signal_handler(number)


@contextmanager
def _deadline(crawl: CrawlRunner, seconds: int) -> Iterator[None]:
    timer = asyncio.get_running_loop().call_later(seconds, crawl.request_stop) if seconds else None
    try:
        yield
    finally:
        if timer is not None:
            timer.cancel()
