"""The first tables, which no migration makes: see nova_sched.db.schema

Revision ID: 3f1c9a6b2d47
Revises:
"""

revision = '3f1c9a6b2d47'
down_revision = None


def upgrade():
    """Do nothing: no database is older."""
