"""Responses of a broker as the administrator handles them: the library is real, its connection is not."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka.admin import AIOKafkaAdminClient

from strider.messaging.kafka import KafkaConnection
from strider.messaging.ports import TopicPartition
from strider.messaging.topics import admin as subject

LOADING, MOVED, FINE = 14, 16, 0
OFFSETS = (("seeds-submitted", ((0, 7, "", 0), (1, -1, "", 0))),)


def answer(error_code: int, topics: Sequence[Any] = ()) -> Any:
    return SimpleNamespace(error_code=error_code, topics=topics)


class WiredAdmin(AIOKafkaAdminClient):
    """The library's administrator, on a connection with scripted responses."""

    def __init__(self, answers: list[Any], **arguments: Any) -> None:
        super().__init__(**arguments)
        self._client = SimpleNamespace(send=self._answer)
        self.answers = answers

    async def start(self) -> None:
        """Do not connect."""

    async def close(self) -> None:
        """Do nothing."""

    async def find_coordinator(self, *_: Any) -> int:
        """Have one."""
        return 1

    async def _answer(self, *_: Any, **__: Any) -> Any:
        return self.answers.pop(0)


@pytest.mark.parametrize(
    "first",
    [pytest.param([LOADING, LOADING], id="loading"), pytest.param([MOVED], id="moved")],
)
async def test_offsets_that_are_not_loaded_yet_are_waited_for(
    monkeypatch: pytest.MonkeyPatch, first: list[int]
) -> None:
    """Taken for absent, they would be written again: every group would read its topics from the beginning."""
    answers = [*(answer(code) for code in first), answer(FINE, OFFSETS)]
    monkeypatch.setattr(subject, "_new_admin", lambda **arguments: WiredAdmin(answers, **arguments))
    monkeypatch.setattr(subject, "_RETRY_SECONDS", 0)

    async with subject.TopicAdmin.open(KafkaConnection(("127.0.0.1:1",))) as opened:
        committed = await opened.committed("link-ingestion-seeds")

    assert (committed, answers) == ({TopicPartition("seeds-submitted", 0): 7}, [])
