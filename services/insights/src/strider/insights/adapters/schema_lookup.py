"""Schemas that this process does not know yet: looked for until that can be done."""

from __future__ import annotations

from strider.contracts import UnknownSchema
from strider.insights.settings import InsightsSettings
from strider.messaging.schema_topic import SchemaFinder
from strider.runtime.process.consumers import open_schema_registry
from strider.runtime.process.main import ServiceContext
from strider.runtime.process.startup import StartupRetry


class Schemas:
    """Finds schemas, and waits for whom it asks."""

    def __init__(self, process: ServiceContext[InsightsSettings]) -> None:
        self._registry = open_schema_registry(process.settings.registry)
        self._finder = SchemaFinder(process.bus, codec=process.codec, registry=self._registry)
        self._patience = StartupRetry(process.readiness, clock=process.clock, chance=process.chance)

    async def find(self, unknown: UnknownSchema) -> bool:
        """Look wherever the schema may be by now; True where the message is worth another look."""
        return await self._patience.run(lambda: self._finder.find(unknown))

    async def close(self) -> None:
        """Stop looking."""
        await self._finder.close()
        if self._registry is not None:
            await self._registry.close()
