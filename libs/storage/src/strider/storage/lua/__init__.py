"""Lua scripts of this library."""
