"""The frontier's Redis functions, as Lua files."""
