"""A world for each test, and an admin's client of it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest

from .world import World, client_of


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
async def client(world: World) -> AsyncIterator[httpx.AsyncClient]:
    async with client_of(world.parts()) as opened:
        yield opened
