"""What the tests of this folder share: logging as it was before."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
import structlog


@pytest.fixture(autouse=True)
def _logging_restored() -> Iterator[None]:
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    yield
    root.handlers, root.level = before, level
    logging.captureWarnings(capture=False)
    structlog.reset_defaults()
