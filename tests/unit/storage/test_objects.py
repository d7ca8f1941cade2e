"""Objects: named by day and content, checked when they come back."""

from __future__ import annotations

from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import pytest

from strider.messaging.errors import StartRefused, Unavailable
from strider.storage.errors import ObjectCorrupt, ObjectMissing, ObjectTooLarge
from strider.storage.objects import DeadLetterObjectStore, ObjectOptions, open_object_store

HELLO = sha256(b"hello").hexdigest()


class Calendar:
    """A clock of which only the day matters."""

    def __init__(self) -> None:
        self.day = datetime(2026, 11, 18, 23, 59, tzinfo=UTC)

    def now(self) -> datetime:
        return self.day

    def monotonic(self) -> float:
        return 0.0

    async def sleep(self, seconds: float) -> None: ...


@pytest.fixture(params=["memory", "folder"])
def objects(request: pytest.FixtureRequest, tmp_path: Path) -> DeadLetterObjectStore:
    url = "memory:///" if request.param == "memory" else f"file://{tmp_path}/new%20folder"
    return open_object_store(ObjectOptions(url), clock=Calendar())


async def test_content_comes_back_by_its_reference(objects: DeadLetterObjectStore) -> None:
    """The reference tells day and hash, and nothing of the store's address."""
    reference = await objects.put(b"hello")

    assert reference == f"2026-11-18/{HELLO[:2]}/{HELLO}"
    assert await objects.get(reference) == b"hello"
    await objects.ping()


async def test_putting_again_is_the_same_put(objects: DeadLetterObjectStore) -> None:
    """F18: an answer that was lost is asked for again."""
    assert await objects.put(b"hello") == await objects.put(b"hello")


async def test_another_day_is_another_object() -> None:
    """Retention deletes by day; re-used content must not go with the day of its first use."""
    calendar = Calendar()
    objects = open_object_store(ObjectOptions("memory:///"), clock=calendar)
    first = await objects.put(b"hello")
    calendar.day = datetime(2026, 11, 19, tzinfo=UTC)

    assert await objects.put(b"hello") == first.replace("2026-11-18", "2026-11-19")


async def test_empty_content_is_content(objects: DeadLetterObjectStore) -> None:
    """A body may be empty."""
    assert await objects.get(await objects.put(b"")) == b""


async def test_the_size_limit_is_checked_before_the_content(objects: DeadLetterObjectStore) -> None:
    """A reference in a foreign event must not fill the memory."""
    reference = await objects.put(b"x" * 1000)

    assert len(await objects.get(reference, max_bytes=1000)) == 1000
    with pytest.raises(ObjectTooLarge, match="has 1000 bytes, the limit is 999"):
        await objects.get(reference, max_bytes=999)


@pytest.mark.parametrize(
    "reference",
    [
        pytest.param(f"2026-11-17/{HELLO[:2]}/{HELLO}", id="another-day"),
        pytest.param("../../etc/passwd", id="upwards"),
        pytest.param(f"2026-11-18/00/{HELLO}", id="folder-of-another-hash"),
        pytest.param("", id="empty"),
        pytest.param(f"2026-11-18/{HELLO[:2]}/{HELLO}/x", id="longer"),
    ],
)
async def test_what_is_not_there_is_missing(objects: DeadLetterObjectStore, reference: str) -> None:
    """S20: references come from events, so they are patterns and never paths."""
    await objects.put(b"hello")

    with pytest.raises(ObjectMissing):
        await objects.get(reference)


async def test_damage_is_seen(tmp_path: Path) -> None:
    """Half an object after a crash is no object; putting it again heals it."""
    objects = open_object_store(ObjectOptions(f"file://{tmp_path}"), clock=Calendar())
    reference = await objects.put(b"hello")
    (tmp_path / reference).write_bytes(b"hel")

    with pytest.raises(ObjectCorrupt, match="3 bytes"):
        await objects.get(reference)
    await objects.put(b"hello")
    assert await objects.get(reference) == b"hello"


async def test_a_folder_that_has_gone_is_unavailable(tmp_path: Path) -> None:
    """A lost mount heals or is repaired; no message is to blame."""
    folder = tmp_path / "objects"
    objects = open_object_store(ObjectOptions(f"file://{folder}"), clock=Calendar())
    folder.rmdir()
    folder.write_text("a file where the folder was")

    with pytest.raises(Unavailable, match="objects is unavailable"):
        await objects.put(b"hello")


@pytest.mark.parametrize(
    "url",
    [
        pytest.param("", id="nothing"),
        pytest.param("objects", id="no-scheme"),
        pytest.param("file://relative/folder", id="relative"),
        pytest.param("file:///dev/null/x", id="no-folder"),
        pytest.param("s3://", id="no-bucket"),
        pytest.param("http://example.org/", id="another-scheme"),
    ],
)
def test_an_address_that_is_none_is_one_line(url: str) -> None:
    """It is a setting, and the process must not start."""
    with pytest.raises(StartRefused, match="OBJECT_STORE_URL"):
        open_object_store(ObjectOptions(url), clock=Calendar())
