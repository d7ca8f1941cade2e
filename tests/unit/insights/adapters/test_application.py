"""Credentials and names that Faust is given."""

from __future__ import annotations

import pytest
from faust.transport.drivers.aiokafka import credentials_to_aiokafka_auth

from strider.insights.adapters.application import broker_credentials
from strider.insights.adapters.host_table import CHANGELOG_TOPIC
from strider.messaging.kafka import KafkaConnection
from strider.messaging.topics.diff import ExistingTopic, diff_topics

LOGIN = {"sasl_username": "me", "sasl_password": "secret"}


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({}, id="an-open-door"),
        pytest.param({"security_protocol": "SSL"}, id="encrypted"),
        pytest.param({"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "PLAIN", **LOGIN}, id="plain"),
        pytest.param({"security_protocol": "SASL_SSL", **LOGIN}, id="scram-encrypted"),
        pytest.param(
            {"security_protocol": "SASL_SSL", "sasl_mechanism": "SCRAM-SHA-256", **LOGIN}, id="scram-256"
        ),
    ],
)
def test_faust_logs_in_as_our_own_clients_do(settings):
    connection = KafkaConnection(("localhost:9092",), **settings)
    own = connection.client_arguments()
    wanted = {name: own[name] for name in own if name.startswith(("security", "sasl"))}

    told = dict(credentials_to_aiokafka_auth(broker_credentials(connection)))

    assert (told.pop("ssl_context", None) is None) == ("ssl_context" not in own)
    assert told == wanted


def test_the_topic_of_the_table_is_known_as_ours() -> None:
    """Faust names the topic; a comparison of topics must not report it as unknown."""
    assert diff_topics([], [ExistingTopic(CHANGELOG_TOPIC, 12, {}, {})]).private == (CHANGELOG_TOPIC,)
