"""Write, test, try, compare and audit parsers for single sites (`strider parser`)."""
