"""When a host may be asked: robots rules, delays, retry ladders. Pure."""
