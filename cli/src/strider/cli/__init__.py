"""The strider command line."""
