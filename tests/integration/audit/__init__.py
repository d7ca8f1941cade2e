"""The look through stored pages, on a real database."""
