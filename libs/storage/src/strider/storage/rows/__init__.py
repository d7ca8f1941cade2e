"""Rows of tables as tables of columns: what is stored, where it comes from, who shows it. Pure."""
