"""What the bus knows of the broker."""

from __future__ import annotations

from .bus_environments import World


async def test_the_partition_count_is_the_brokers(world: World) -> None:
    topic = await world.create_topic(5)
    assert await world.bus().partition_count(topic) == 5


async def test_a_missing_topic_has_no_partition_count(world: World) -> None:
    """Asking must not create it, which brokers do by default."""
    bus, name = world.bus(), world.unique("missing")
    assert await bus.partition_count(name) is None
    assert await bus.partition_count(name) is None


async def test_a_broker_that_responds_passes_the_ping(world: World) -> None:
    bus = world.bus()
    await bus.ping()
    await bus.ping()


async def test_the_identity_of_a_cluster_is_the_same_for_every_process(world: World) -> None:
    topic = await world.create_topic(3)

    one, two = await world.bus().cluster_identity(topic), await world.bus().cluster_identity(topic)

    assert one == two != ""


async def test_the_identity_of_a_cluster_changes_with_the_topic(world: World) -> None:
    """A cluster that was set up again may have the id of the one before; its topics never do."""
    bus = world.bus()

    one, two = [await bus.cluster_identity(await world.create_topic()) for _ in range(2)]

    assert one.partition("/")[0] == two.partition("/")[0]
    assert one != two
