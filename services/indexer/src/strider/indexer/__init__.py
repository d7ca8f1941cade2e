"""Write pages, decisions, failures and frontier records to PostgreSQL."""
