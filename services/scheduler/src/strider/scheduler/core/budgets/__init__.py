"""TODO: budgets."""
