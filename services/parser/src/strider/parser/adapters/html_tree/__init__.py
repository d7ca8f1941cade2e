"""Read HTML trees through selectolax (Lexbor).

Decides which elements are read; what they mean is decided in the core.
"""
