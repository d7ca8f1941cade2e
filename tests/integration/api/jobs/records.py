"""The record of jobs in the database of a test, and a token of its API."""

from __future__ import annotations

import pytest

from strider.jobs.ports import JobStore
from strider.jobs.postgres.store import PostgresJobStore
from strider.storage.postgres import Postgres
from strider.testing.callers import access_token


def a_token() -> str:
    return access_token()


@pytest.fixture
def job_store(postgres: Postgres) -> JobStore:
    return PostgresJobStore(postgres)
