"""Consumer loop of a group: read, handle, publish, write state, commit.

Start with `loop` (when to read), then `pipeline` (the stages of one message) and `error_policy` (what a
failure leads to).
"""
