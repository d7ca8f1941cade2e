"""What all tests share: the real parts (started once, on first use) and how examples are made up."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Iterator

import pytest
import structlog
from hypothesis import HealthCheck, settings
from xdist.remote import Producer

from tests.lanes import Lanes, rank

pytest_plugins = ["strider.testing.stack"]

# For the processes that tests start: where this is set, each of them compiles every library at each start.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# A shell starts what runs in its background deaf to Ctrl-C: so would be all commands that tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A busy machine makes up examples slowly, which says nothing about the code. In CI the same examples
# come each time, so that a change fails for what it changed; at home new ones are looked for.
settings.register_profile(
    "house", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize="CI" in os.environ
)
settings.load_profile("house")


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Lanes:
    """Lanes side by side (`make test`) share the work as `tests.lanes` says."""
    config.option.loadscopereorder = False
    return Lanes(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A single lane keeps its order: unit tests last would help no developer."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        items.sort(key=lambda item: rank(item.nodeid))


@pytest.fixture
def logging_restored() -> Iterator[None]:
    """Leave logging as it was, for a test that sets it up as a process does."""
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    yield
    root.handlers, root.level = before, level
    logging.captureWarnings(capture=False)
    structlog.reset_defaults()
