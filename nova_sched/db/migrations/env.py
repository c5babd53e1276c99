"""Alembic's entry point; db/schema.py hands over an open connection."""

from alembic import context

from nova_sched.db import tables

context.configure(
    connection=context.config.attributes['connection'],
    target_metadata=tables.metadata,
    version_table=context.config.attributes['version_table'])

with context.begin_transaction():
    context.run_migrations()
