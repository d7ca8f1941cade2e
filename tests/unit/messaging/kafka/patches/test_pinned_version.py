"""The patches of aiokafka hold for the version that is locked."""

from __future__ import annotations

from importlib.metadata import version

from strider.messaging.kafka.patches import AIOKAFKA_VERSION


def test_the_patches_were_written_against_the_version_that_is_installed() -> None:
    installed = version("aiokafka")

    assert installed == AIOKAFKA_VERSION, (
        f"aiokafka {installed} is installed, the patches were written against {AIOKAFKA_VERSION}. "
        "Compare what each module of strider/messaging/kafka/patches reaches into (the table in its "
        "__init__.py) with the new source, run tests/unit/messaging/kafka, tests/contract/test_bus_*.py "
        "and tests/integration/messaging on the new version, then set AIOKAFKA_VERSION there."
    )
