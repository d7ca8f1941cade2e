"""Schemas that this process does not know yet: looked for until that can be done."""

from __future__ import annotations

from strider.contracts import UnknownSchema
from strider.insights.settings import InsightsSettings
from strider.runtime.schemas import SchemaFinder
from strider.runtime.service import Process
from strider.runtime.service_checks import Patience
from strider.runtime.service_consumers import open_registry


class Schemas:
    """Finds schemas, and waits for whom it asks."""

    def __init__(self, process: Process[InsightsSettings]) -> None:
        self._registry = open_registry(process.settings.registry)
        self._finder = SchemaFinder(process.bus, codec=process.codec, registry=self._registry)
        self._patience = Patience(process.readiness, clock=process.clock, chance=process.chance)

    async def find(self, unknown: UnknownSchema) -> bool:
        """Look wherever the schema may be by now; True where the message is worth another look."""
        return await self._patience.until_done(lambda: self._finder.find(unknown))

    async def close(self) -> None:
        """Stop looking."""
        await self._finder.close()
        if self._registry is not None:
            await self._registry.close()
