"""Alembic's environment: renders revisions as SQL.

Offline mode only: the one PostgreSQL driver here is asynchronous, and `strider migrate` runs through it what
is rendered here. `alembic upgrade --sql` works as well.
"""

from alembic import context

context.configure(dialect_name="postgresql", transactional_ddl=True, transaction_per_migration=True)

with context.begin_transaction():
    context.run_migrations()
