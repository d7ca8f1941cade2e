"""Columns of tables: source, type and place in responses of each value. Pure."""
