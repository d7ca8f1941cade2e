"""The job or source that a person names, by id or name, and how far the run of a job is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from strider.cli.api.job_views import progress_text
from strider.cli.exit_codes import CommandExit
from strider.cli.output import counted, fail, warn

if TYPE_CHECKING:
    from strider.client import RemoteExecution, RemoteJob, StriderClient

MIN_PREFIX_CHARACTERS: Final = 6
MAX_SHOWN: Final = 3


def find_job(api: StriderClient, text: str) -> RemoteJob:
    """Return the job; ends the command where there is none, or where several ids begin so."""
    from strider.client import NotFoundProblem  # noqa: PLC0415  # --help waits for no library

    try:
        return api.jobs.get(text)
    except NotFoundProblem:
        found = list(api.jobs.list(name=text, limit=1)) or _with_prefix(api, text)
    if len(found) > 1:
        ids = ", ".join(job.id for job in found[:MAX_SHOWN])
        fail(
            f"{counted(len(found), 'job')} or more begin with {text!r}: {ids}; give more of the id",
            CommandExit.USAGE,
        )
    if not found:
        fail(
            f"there is no job with the id or name {text!r}; list them with: strider jobs list",
            CommandExit.FAILED,
        )
    return found[0]


def find_progress(api: StriderClient, execution: RemoteExecution) -> str:
    """Return how far the run of an execution is, or why that cannot be read; empty after its end."""
    from strider.client import ApiProblem, ApiUnreachable, NotFoundProblem  # noqa: PLC0415  # as above

    if execution.has_ended:
        return ""
    try:
        return progress_text(api.jobs.run(execution.id))
    except NotFoundProblem:
        return "no URL accepted yet"
    except (ApiProblem, ApiUnreachable) as failure:  # Redis is away, for example: the rest is shown
        return f"its progress cannot be read: {failure}"


def _with_prefix(api: StriderClient, text: str) -> list[RemoteJob]:
    if len(text) < MIN_PREFIX_CHARACTERS:
        return []
    return list(api.jobs.list(id_prefix=text, limit=MAX_SHOWN))


def find_source_id(api: StriderClient, text: str) -> str:
    """Return the id of a source; one that does not exist may be made later, so it is warned about."""
    from strider.client import NotFoundProblem  # noqa: PLC0415  # as above

    try:
        return api.sources.get(text).id
    except NotFoundProblem:
        found = [source.id for source in api.sources.list(name=text) if source.name == text]
    if not found:
        warn(f"there is no source with the id or name {text!r}; runs fail until one has this id")
        return text
    return found[0]
