"""The strider command."""
