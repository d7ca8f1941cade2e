"""Lua function library of the frontier, assembled from shared parts and function files.

Knows which functions exist and whether they may run on a full server; not what they do. The library's name
contains the hash of its text, so that processes of two versions can use one server.
"""

from __future__ import annotations

from functools import cache
from hashlib import sha1
from typing import Final

from strider.frontier.entry_encoding import FIELDS_DIGEST
from strider.storage.lua_files import LuaScript, load_script

LIBRARY_PARTS: Final = (
    "shard",
    "turns",
    "debts",
    "paces",
    "host_groups",
    "entries",
    "leases",
    "integer_sets",
    "seen",
    "parked",
)
"""In this order: each part uses the ones before it."""

FUNCTIONS: Final = (
    "take_over", "begin_rebuild", "finish_rebuild", "report_progress", "invalidate", "expire_leases",
    "record_seen", "load_seen", "set_accepted_counts", "correct_clock", "intern", "accept", "refill",
    "find_parked", "prune_host_groups", "forget_executions", "lookup", "release", "swap", "end_requests",
    "conclude", "set_host_groups", "stats", "scan", "inspect", "inspect_requests", "mark_started",
    "find_seen",
)  # fmt: skip

LUA_PACKAGE: Final = "strider.frontier.redis.lua"

REPLY_FIELDS: Final = {"end_requests": "free", "finish_rebuild": "ready"}
"""Suffix of the header field `said-<suffix>` that keeps a function's last reply, where it is not its name."""

LIBRARY_PREFIX: Final = "strider_frontier_"

_REFUSED_WHEN_FULL: Final = frozenset({"accept", "intern", "load_seen", "record_seen", "refill"})
"""Refused by a full server; all others free memory, or need next to none, and must continue."""

_DEFINE_FUNCTION: Final = """
local function define(name, reply_field, flags, work)
  redis.register_function({
    function_name = LIBRARY .. '_' .. name,
    flags = flags,
    callback = function(keys, arguments)
      KEYS, ARGV = keys, arguments
      begin_shard(reply_field)
      %s
      return work()
    end,
  })
end
"""


@cache
def frontier_function(name: str) -> LuaScript:
    """Return a function with its library."""
    library, text, sha = _library()
    return LuaScript(f"{library}_{name}", text, sha, is_function=True)


def library_name() -> str:
    """Return the name of this version's library."""
    return _library()[0]


@cache
def _library() -> tuple[str, str, str]:
    """Return the library's name, its text, and the text's hash."""
    parts = [load_script(f"frontier_part_{part}", LUA_PACKAGE).text for part in LIBRARY_PARTS]
    begins = "\n      ".join(f"begin_{part}()" for part in LIBRARY_PARTS[1:])
    body = "\n".join((*parts, _DEFINE_FUNCTION % begins, *map(_definition, FUNCTIONS)))
    sha = sha1((FIELDS_DIGEST + body).encode(), usedforsecurity=False).hexdigest()
    name = f"{LIBRARY_PREFIX}{sha[:12]}"
    return name, f"#!lua name={name}\nlocal LIBRARY, FIELDS = '{name}', '{FIELDS_DIGEST}'\n{body}", sha


def _definition(name: str) -> str:
    flags = "" if name in _REFUSED_WHEN_FULL else "'allow-oom'"
    text = load_script(f"frontier_{name}", LUA_PACKAGE).text
    return f"define('{name}', '{REPLY_FIELDS.get(name, name)}', {{{flags}}}, (function()\n{text}\nend)())\n"
