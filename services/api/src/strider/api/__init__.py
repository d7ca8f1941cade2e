"""Speaks for people: seeds in, pages out, over HTTP."""
