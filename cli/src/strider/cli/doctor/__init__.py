"""Checks of `strider doctor`: what is installed, configured and reachable."""
