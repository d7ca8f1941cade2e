"""Look up unknown schemas, and retry until the lookup succeeds."""

from __future__ import annotations

from strider.contracts import UnknownSchema
from strider.insights.settings import InsightsSettings
from strider.messaging.schema_topic import SchemaFinder
from strider.runtime.process.consumers import open_schema_registry
from strider.runtime.process.main import ServiceContext
from strider.runtime.process.startup import StartupRetry


class SchemaLookup:
    """Looks up schemas in the schema topic and the registry, waiting for these where they are unavailable."""

    def __init__(self, process: ServiceContext[InsightsSettings]) -> None:
        self._registry = open_schema_registry(process.settings.registry)
        self._finder = SchemaFinder(process.bus, codec=process.codec, registry=self._registry)
        self._patience = StartupRetry(process.readiness, clock=process.clock, chance=process.chance)

    async def find(self, unknown: UnknownSchema) -> bool:
        """Look up a schema; return True where decoding the message may succeed now."""
        return await self._patience.run(lambda: self._finder.find(unknown))

    async def close(self) -> None:
        """Close the clients."""
        await self._finder.close()
        if self._registry is not None:
            await self._registry.close()
