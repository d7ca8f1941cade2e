"""Entry point of every service: command line, settings, event loop, exit code.

    raise SystemExit(run_service("echo", EchoSettings, build))

Reports in one line each what is wrong with arguments or settings; then runs the `lifecycle`.
"""

from __future__ import annotations

import asyncio
import gc
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TextIO

from strider.messaging.kafka import KafkaBus, KafkaConnection
from strider.runtime.consumer.spec import ConsumerSpec, consume
from strider.runtime.settings.base import ServiceSettings
from strider.runtime.settings.help import render_config, render_help
from strider.runtime.settings.loader import LoadedSettings, SettingsError, load_settings

from .definition import BuildService, S, ServiceContext, ServiceDefinition
from .exit_codes import ExitCode
from .lifecycle import ServiceLifecycle
from .startup import ServiceStartup

GC_THRESHOLD_OBJECTS: Final = 10_000
"""New objects after which the garbage collector runs: messages come in hundreds."""

__all__ = [
    "ConsumerSpec",
    "ServiceContext",
    "ServiceDefinition",
    "consume",
    "kafka_connection",
    "run_service",
]


def run_service(
    name: str,
    settings_class: type[S],
    build: BuildService[S],
    *,
    argv: Sequence[str] | None = None,
    environ: Mapping[str, str] | None = None,
) -> int:
    """Run a service until it is asked to stop or cannot continue; return the exit code."""
    arguments = sys.argv[1:] if argv is None else list(argv)
    if {"-h", "--help"} & set(arguments):
        return _write(render_help(name, settings_class))
    unknown = [argument for argument in arguments if argument != "--print-config"]
    if unknown:
        return _report_problems(name, [f"unknown option {unknown[0]}; see --help"])
    try:
        loaded = load_settings(
            settings_class, os.environ if environ is None else environ, requires_addresses=True
        )
    except SettingsError as error:
        return _report_problems(name, error.problems)
    if arguments:
        return _write(render_config(loaded))
    return _run_lifecycle(name, loaded, build)


def _run_lifecycle(name: str, loaded: LoadedSettings[S], build: BuildService[S]) -> int:
    async def live() -> ExitCode:
        has_no_color = bool(os.environ.get("NO_COLOR"))
        start = ServiceStartup(
            name, loaded, build, make_bus=_kafka_bus, stream=sys.stderr, has_no_color=has_no_color
        )
        return await ServiceLifecycle(start).run()

    _tune_garbage_collector()
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        return int(runner.run(live()))


def _tune_garbage_collector() -> None:
    """Exclude the objects of the startup from garbage collection: they stay, and a scan costs as much as a
    page.
    """
    gc.freeze()
    gc.set_threshold(GC_THRESHOLD_OBJECTS, 10, 10)


def _kafka_bus(settings: ServiceSettings) -> KafkaBus:
    return KafkaBus(kafka_connection(settings))


def kafka_connection(settings: ServiceSettings) -> KafkaConnection:
    """Return the connection to the broker, for services with a client of their own."""
    kafka = settings.kafka
    return KafkaConnection(
        bootstrap_servers=kafka.bootstrap_servers,
        security_protocol=kafka.security_protocol,
        sasl_mechanism=kafka.sasl_mechanism,
        sasl_username=kafka.sasl_username,
        sasl_password=kafka.sasl_password.get_secret_value(),
        ssl_ca_file=kafka.ssl_ca_file,
        ssl_cert_file=kafka.ssl_cert_file,
        ssl_key_file=kafka.ssl_key_file,
        ssl_key_password=kafka.ssl_key_password.get_secret_value(),
        max_decompressed_batch_bytes=settings.run.max_decompressed_batch_mb * 1024 * 1024,
    )


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop  # noqa: PLC0415  # absent on some platforms, where asyncio's own loop serves
    except ImportError:
        return None
    return uvloop.new_event_loop


def _write(text: str, stream: TextIO | None = None) -> int:
    (stream or sys.stdout).write(text)
    return ExitCode.OK


def _report_problems(name: str, problems: list[str]) -> int:
    for problem in problems:
        _write(f"{name}: {problem}\n", sys.stderr)
    return ExitCode.SETTINGS
