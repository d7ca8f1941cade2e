"""What all tests share: the real parts (started once, on first use) and the mark for acceptance lines."""

from __future__ import annotations

pytest_plugins = ["strider.testing.stack"]
