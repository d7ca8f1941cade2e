"""An address that cannot be read is refused without quoting what may be a password."""

from __future__ import annotations

import pytest

from strider.messaging.errors import StartRefused
from strider.storage.postgres import Postgres, PostgresOptions
from strider.storage.redis import RedisOptions, connect


def test_a_broken_redis_address_is_refused_without_its_password() -> None:
    """A slash that was not escaped makes the password look like a port."""
    with pytest.raises(StartRefused, match="REDIS_URL is not a valid URL") as refused:
        connect(RedisOptions(url="redis://:S3cretPa/ss@127.0.0.1:6379/0"))

    assert "S3cret" not in str(refused.value)
    assert "%2F" in str(refused.value)


async def test_a_broken_postgres_address_is_refused_without_its_password() -> None:
    store = Postgres(PostgresOptions(dsn="postgresql://me:S3cretPa/ss@127.0.0.1:5432/strider"))

    with pytest.raises(StartRefused, match="POSTGRES_DSN is not a valid URL") as refused:
        await store.ping()

    assert "S3cret" not in str(refused.value)
