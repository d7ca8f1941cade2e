"""Sources: their record in PostgreSQL, its publication, and the jobs that follow."""
