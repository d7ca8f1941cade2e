"""What each error of the client library becomes; the loop acts on these and on nothing else."""

from __future__ import annotations

import asyncio
from socket import AF_INET, AF_INET6, AF_UNSPEC

import pytest
from aiokafka import errors as library

from strider.contracts import EncodeError
from strider.messaging.errors import (
    InfrastructureError,
    OffsetLost,
    PartitionNotOwned,
    ShardFenced,
    StartRefused,
    Unavailable,
)
from strider.messaging.kafka.error_mapping import describe_error, map_error, mapped_errors, raise_for_code


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        pytest.param(library.KafkaConnectionError("gone"), Unavailable, id="connection"),
        pytest.param(library.NodeNotReadyError(), Unavailable, id="node"),
        pytest.param(library.KafkaTimeoutError(), Unavailable, id="buffer-full"),
        pytest.param(library.RequestTimedOutError(), Unavailable, id="timeout"),
        pytest.param(library.NotEnoughReplicasError(), Unavailable, id="replicas"),
        pytest.param(library.UnknownTopicOrPartitionError(), Unavailable, id="topic"),
        pytest.param(library.TopicAuthorizationFailedError("t"), Unavailable, id="permission"),
        pytest.param(library.SaslAuthenticationFailed(), Unavailable, id="login"),
        pytest.param(library.OutOfOrderSequenceNumber(), Unavailable, id="sequence"),
        pytest.param(library.UnknownError(), Unavailable, id="unknown-code"),
        pytest.param(library.KafkaError("whatever"), Unavailable, id="root"),
        pytest.param(library.CommitFailedError(), PartitionNotOwned, id="commit"),
        pytest.param(library.IllegalGenerationError(), PartitionNotOwned, id="generation"),
        pytest.param(library.UnknownMemberIdError(), PartitionNotOwned, id="member"),
        pytest.param(library.RebalanceInProgressError(), PartitionNotOwned, id="rebalance"),
        pytest.param(library.IllegalStateError("not assigned"), PartitionNotOwned, id="unassigned"),
        pytest.param(library.MessageSizeTooLargeError(), EncodeError, id="size"),
        pytest.param(library.RecordListTooLargeError(), EncodeError, id="batch-size"),
        pytest.param(library.InvalidSessionTimeoutError(), StartRefused, id="session"),
        pytest.param(library.InconsistentGroupProtocolError(), StartRefused, id="protocol"),
        pytest.param(library.UnsupportedVersionError(), StartRefused, id="version"),
    ],
)
def test_each_error_of_the_library_has_one_meaning(error: Exception, expected: type[Exception]) -> None:
    assert type(map_error(error)) is expected


@pytest.mark.parametrize("error", [library.ProducerFenced(), library.InvalidProducerEpoch()])
def test_fencing_is_about_a_shard_or_else_an_outage(error: Exception) -> None:
    """A plain idempotent producer owns no shard that could be taken."""
    fenced = map_error(error, shard=7)
    assert isinstance(fenced, ShardFenced)
    assert fenced.shard == 7
    assert type(map_error(error)) is Unavailable


def test_our_own_errors_pass_unchanged() -> None:
    lost = OffsetLost("t", 0, wanted=1, available=5)
    assert map_error(lost) is lost


def test_a_translation_names_its_part_and_keeps_the_cause() -> None:
    with pytest.raises(Unavailable, match="gone") as raised, mapped_errors():
        raise library.KafkaConnectionError("gone")
    assert raised.value.dependency == "kafka"
    assert isinstance(raised.value.__cause__, library.KafkaConnectionError)


@pytest.mark.parametrize("error", [TimeoutError(), ConnectionResetError("reset"), OSError(113, "no route")])
def test_the_systems_errors_are_outages(error: Exception) -> None:
    with pytest.raises(Unavailable), mapped_errors():
        raise error


@pytest.mark.parametrize("error", [asyncio.CancelledError(), KeyError("a bug"), AssertionError("a bug")])
def test_cancellation_and_bugs_pass_untouched(error: BaseException) -> None:
    with pytest.raises(type(error)), mapped_errors():
        raise error


@pytest.mark.parametrize(
    ("tried", "address"),
    [
        pytest.param([("127.0.0.1", 9, AF_INET)], "127.0.0.1:9", id="one"),
        pytest.param(
            [("b.test", 9092, AF_UNSPEC), ("a.test", 9092, AF_UNSPEC)],
            "a.test:9092, b.test:9092",
            id="several",
        ),
        pytest.param([("::1", 9, AF_INET6)], "[::1]:9", id="version-6"),
        pytest.param([("me:s3cret@b.test", 9, AF_UNSPEC)], "b.test:9", id="with-a-password"),
        pytest.param([("me:s3'c\"ret@b.test", 9, AF_UNSPEC)], "b.test:9", id="with-quotes"),
    ],
)
def test_an_unreachable_broker_is_described_in_one_sentence(tried: list[object], address: str) -> None:
    """The library lists what it has tried as a program would, and with whatever stands before the host."""
    error = map_error(library.KafkaConnectionError(f"Unable to bootstrap from {tried}"))
    assert (
        str(error)
        == f"kafka is unavailable: no broker answers at {address}, or it refuses our login or certificate"
    )


@pytest.mark.parametrize(
    ("error", "said"),
    [
        pytest.param(TimeoutError(), "no broker answers at a.test:1, b.test:2 in time", id="in-time"),
        pytest.param(
            OSError("no route"), "no broker answers at a.test:1, b.test:2 (OSError: no route)", id="system"
        ),
    ],
)
def test_the_systems_errors_get_the_address_that_they_lack(error: Exception, said: str) -> None:
    with pytest.raises(Unavailable) as raised, mapped_errors(at=("b.test:2", "me:s3cret@a.test:1")):
        raise error
    assert raised.value.detail == said


def test_the_name_of_an_error_is_not_repeated() -> None:
    error = library.KafkaConnectionError("Connection at a.test:9092 closed")
    assert describe_error(error) == "KafkaConnectionError: Connection at a.test:9092 closed"


def test_no_description_is_empty() -> None:
    assert describe_error(TimeoutError()) == "TimeoutError"
    assert describe_error(OSError("no route")) == "OSError: no route"


def test_an_error_code_is_described() -> None:
    raise_for_code(0, doing="nothing")
    with pytest.raises(Unavailable, match="asking: code 3, UnknownTopicOrPartitionError"):
        raise_for_code(3, doing="asking")
    with pytest.raises(Unavailable, match="code 90, a newer producer owns"):
        raise_for_code(90, doing="taking")


def test_everything_that_comes_out_is_in_our_trees() -> None:
    """Whatever class the library has: no code above the adapter ever meets one of them."""
    classes = [c for c in vars(library).values() if isinstance(c, type) and issubclass(c, Exception)]
    raised = [c.__new__(c) for c in classes if c is not library.BrokerResponseError]  # the root is abstract
    assert len(raised) > 90
    assert all(isinstance(map_error(error), InfrastructureError | EncodeError) for error in raised)
