"""Jobs: their states and schedule (pure), and their record in PostgreSQL."""
