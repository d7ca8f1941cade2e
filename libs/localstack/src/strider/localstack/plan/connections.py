"""How the stack itself reaches a broker: with the credentials that its services will use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from .service_process import STACK_VARIABLES

if TYPE_CHECKING:
    # Half a second of imports, which `strider status` need not wait for.
    from strider.runtime.kafka import KafkaConnection
    from strider.runtime.settings import ServiceSettings


def common_settings(environment: Mapping[str, str]) -> ServiceSettings:
    """Read what every service here is set to. Raises SettingsError, as each of them would."""
    from strider.runtime.settings import ServiceSettings  # noqa: PLC0415  # see above
    from strider.runtime.settings_sources import load  # noqa: PLC0415  # see above

    return load(ServiceSettings, {k: v for k, v in environment.items() if k not in STACK_VARIABLES}).settings


def kafka_connection(servers: str, environment: Mapping[str, str]) -> KafkaConnection:
    """Name the way to a broker at these addresses."""
    from strider.runtime.kafka import KafkaConnection  # noqa: PLC0415  # see above

    kafka = common_settings(environment).kafka
    return KafkaConnection(
        bootstrap_servers=tuple(address.strip() for address in servers.split(",")),
        client_id="strider-up",
        security_protocol=kafka.security_protocol,
        sasl_mechanism=kafka.sasl_mechanism,
        sasl_username=kafka.sasl_username,
        sasl_password=kafka.sasl_password.get_secret_value(),
        ssl_ca_file=kafka.ssl_ca_file,
        ssl_cert_file=kafka.ssl_cert_file,
        ssl_key_file=kafka.ssl_key_file,
        ssl_key_password=kafka.ssl_key_password.get_secret_value(),
    )
