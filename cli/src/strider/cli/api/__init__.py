"""Access to the HTTP API: its address and token, errors as ends of a command, jobs as text."""
