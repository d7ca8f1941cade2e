"""Count outcomes of requests and pages per host in a Faust table that may be wiped."""
