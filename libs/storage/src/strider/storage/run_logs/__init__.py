"""Logs of runs: lines in Redis while a run is under way, one archived object afterwards."""
