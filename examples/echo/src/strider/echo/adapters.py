"""Nothing stands here: an echo keeps no state and asks nobody.

The bus is the runtime's. A service that stores something has its adapters in this file; `tally` does.
"""
