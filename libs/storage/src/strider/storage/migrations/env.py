"""What alembic runs to turn revisions into SQL.

Only into SQL: this house has one PostgreSQL driver, an asynchronous one, and `strider migrate`
runs through it what is written here. `alembic upgrade --sql` works as well, for who likes to see.
"""

from alembic import context

context.configure(dialect_name="postgresql", transactional_ddl=True, transaction_per_migration=True)

with context.begin_transaction():
    context.run_migrations()
