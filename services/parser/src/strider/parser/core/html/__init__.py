"""TODO: html."""
