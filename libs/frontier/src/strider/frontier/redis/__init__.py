"""The frontier in Redis (or Valkey): one library of Lua functions and its callers."""
