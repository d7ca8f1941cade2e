from __future__ import annotations

import re
from pathlib import Path

from strider.localstack.stack_state import PROCESS_STATES

PAGE = (Path(__file__).parents[3] / "docs" / "operations" / "local-stack.md").read_text()


def test_the_page_explains_every_state_in_the_words_of_the_code() -> None:
    rows = dict(re.findall(r"^\| `([a-z-]+)` \| (.+) \|$", PAGE, re.MULTILINE))

    assert rows == dict(PROCESS_STATES)
