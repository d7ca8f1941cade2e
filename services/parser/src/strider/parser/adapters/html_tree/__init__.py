"""TODO: html_tree."""
