"""What all tests share: the real parts (started once, on first use) and how examples are made up."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

pytest_plugins = ["strider.testing.stack"]

# A busy machine makes up examples slowly, which says nothing about the code. In CI the same examples
# come each time, so that a change fails for what it changed; at home new ones are looked for.
settings.register_profile(
    "house", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize="CI" in os.environ
)
settings.load_profile("house")
