"""Own code of the parser against libraries that do the same."""
