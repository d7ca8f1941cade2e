"""The frontier's scripts: one library of functions, put together from parts and a file for each function.

Knows which scripts there are and whether they may run on a full server; not what they do. The library
bears the hash of its text in its name, so that processes of two versions can use one server.
"""

from __future__ import annotations

from functools import cache
from hashlib import sha1
from typing import Final

from strider.frontier.entry_encoding import FIELDS_DIGEST
from strider.storage.lua_files import LuaScript, load_script

LIBRARY_PARTS: Final = ("shard", "groups", "entries", "leases", "buckets", "seen", "parked")
"""In this order: each uses what stands in those before it."""

FUNCTIONS: Final = (
    "take", "begin", "ready", "tell", "void", "recover", "remember", "fill", "recount", "shift", "name",
    "accept", "refill", "parked", "prune", "forget", "look", "release", "swap", "free", "conclude", "groups",
    "count", "scan", "glance", "underway", "mark", "seen",
)  # fmt: skip

LIBRARY_PREFIX: Final = "strider_frontier_"

_REFUSED_WHEN_FULL: Final = frozenset({"accept", "fill", "name", "refill", "remember"})
"""Refused by a full server; all others give room back, or cost next to none, and must go on."""

_DEFINE_FUNCTION: Final = """
local function define(name, flags, work)
  redis.register_function({
    function_name = LIBRARY .. '_' .. name,
    flags = flags,
    callback = function(keys, arguments)
      KEYS, ARGV = keys, arguments
      begin_shard(name)
      %s
      return work()
    end,
  })
end
"""


@cache
def frontier_function(name: str) -> LuaScript:
    """Give a script."""
    library, text, sha = _library()
    return LuaScript(f"{library}_{name}", text, sha, is_function=True)


def library_name() -> str:
    """Name the library of this version."""
    return _library()[0]


@cache
def _library() -> tuple[str, str, str]:
    """Give the library's name, its text, and the text's hash."""
    parts = [load_script(f"frontier_part_{part}").text for part in LIBRARY_PARTS]
    begins = "\n      ".join(f"begin_{part}()" for part in LIBRARY_PARTS[1:])
    body = "\n".join((*parts, _DEFINE_FUNCTION % begins, *map(_definition, FUNCTIONS)))
    sha = sha1((FIELDS_DIGEST + body).encode(), usedforsecurity=False).hexdigest()
    name = f"{LIBRARY_PREFIX}{sha[:12]}"
    return name, f"#!lua name={name}\nlocal LIBRARY, FIELDS = '{name}', '{FIELDS_DIGEST}'\n{body}", sha


def _definition(name: str) -> str:
    flags = "" if name in _REFUSED_WHEN_FULL else "'allow-oom'"
    return f"define('{name}', {{{flags}}}, (function()\n{load_script(f'frontier_{name}').text}\nend)())\n"
