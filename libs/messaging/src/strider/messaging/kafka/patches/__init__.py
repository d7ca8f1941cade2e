"""Changes to aiokafka's internals, each for a bug or a cost of its public interface.

| module | what it reaches into |
|---|---|
| access_requests | the administrator's connection; frames of protocol.admin |
| batching_pace | Fetcher._get_actions_per_node, MessageAccumulator.drain_by_nodes |
| bounded_decompression | record.default_records and .legacy_records, decoding functions |
| closed_connections | conn.AIOKafkaConnection.send, ._send_sasl_token |
| compression | record.default_records.zstd_encode, MessageAccumulator._append_batch |
| fast_append | MessageAccumulator.add_message, batch.append |
| internals | coordinator, fetcher, subscription state, sender and accumulator |
| metadata_pace | client.AIOKafkaClient._metadata_update |
| offset_lookups | client.AIOKafkaClient.send |
| safe_decompression | fetcher.MemoryRecords, .PartitionRecords, .FetchResult |
"""

from __future__ import annotations

from typing import Final

AIOKAFKA_VERSION: Final = "0.14.0"
"""The version these patches were written against; a test fails when another one is installed."""
