"""Errors of jobs, each a sentence for the person who sent the request.

JobFault
├── UnknownJob          no job has this id
├── InvalidJobField     a value cannot be used; names the field
├── IllegalTransition   the state of the job does not allow the action
├── StaleVersion        the job was changed since it was read
├── DuplicateJob        another job has this id or name
└── UnfinishedRun       a job cannot be deleted before its run has ended
"""

from __future__ import annotations

from collections.abc import Iterable


class JobFault(Exception):
    """Root of the tree."""


class UnknownJob(JobFault):
    """No job has this id."""

    def __init__(self, job_id: str) -> None:
        super().__init__(f"there is no job {job_id!r}")
        self.job_id = job_id


class InvalidJobField(JobFault, ValueError):
    """A value of a job cannot be used."""

    def __init__(self, field: str, detail: str) -> None:
        super().__init__(f"{field}: {detail}")
        self.field = field
        self.detail = detail


class IllegalTransition(JobFault):
    """The state of a job does not allow an action."""

    def __init__(self, job_id: str, state: str, action: str, *, allowed: Iterable[str] = ()) -> None:
        self.job_id = job_id
        self.state = str(state)
        self.action = str(action)
        self.allowed = tuple(str(each) for each in allowed)
        possible = ", ".join(self.allowed) or "nothing: this state is final"
        super().__init__(f"job {job_id} is {self.state} and cannot {self.action}; allowed now: {possible}")


class StaleVersion(JobFault):
    """The job was changed since it was read."""

    def __init__(self, job_id: str, *, given: int, current: int) -> None:
        super().__init__(
            f"job {job_id} was changed meanwhile: version {given} was given, {current} is current; "
            "read it again and repeat the change"
        )
        self.job_id = job_id
        self.given = given
        self.current = current


class DuplicateJob(JobFault):
    """Another job has this id or name."""

    def __init__(self, field: str, value: str) -> None:
        super().__init__(f"{field}: another job has the {field} {value!r}")
        self.field = field
        self.value = value


class UnfinishedRun(JobFault):
    """A job cannot be deleted before its run has ended."""

    def __init__(self, job_id: str, execution_id: str) -> None:
        super().__init__(
            f"job {job_id} cannot be deleted yet: its run {execution_id} is being cancelled; "
            "repeat this when the run has ended"
        )
        self.job_id = job_id
        self.execution_id = execution_id
