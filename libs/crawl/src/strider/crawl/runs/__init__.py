"""States of runs by the commands about them, for every service. Pure."""
