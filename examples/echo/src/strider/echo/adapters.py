"""Adapters: none, since an echo keeps no state and calls no other system.

The bus belongs to the runtime. A service that stores something has its adapters in this file; `tally` does.
"""
