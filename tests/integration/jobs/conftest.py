"""A store of jobs in a database of this test's own."""

from __future__ import annotations

import pytest

from strider.jobs.postgres import PostgresJobStore
from strider.storage.postgres import Postgres


@pytest.fixture
def store(postgres: Postgres) -> PostgresJobStore:
    return PostgresJobStore(postgres)
