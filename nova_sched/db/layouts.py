"""Detects the release of Nova that created a database, by its columns."""

import dataclasses

import sqlalchemy as sa

#: The version table of "nova-sched-manage db sync".
_OWN = 'nova_sched_alembic_version'


@dataclasses.dataclass(frozen=True)
class Layout:
    """The tables of some releases.

    words: the releases, for texts.  version: ``services.version`` in the
    oldest of these releases; None if it has no such column.
    """

    words: str
    version: int | None = None


#: (table, column, layout); the first existing column decides.
_CELL = (
    ('instances', 'compute_id', Layout('as of 2026.2', 74)),
    ('instances', 'hidden', Layout('newer than Queens, older than 2026.2',
                                   35)),
    ('services', 'uuid', Layout('as of Pike and Queens', 22)),
    ('compute_nodes', 'disk_allocation_ratio', Layout(
        'as of Mitaka, before Pike', 9)),
    ('compute_nodes', 'ram_allocation_ratio', Layout('as of Liberty', 2)),
    ('compute_nodes', 'id', Layout('as of Kilo')),
)
_API = (
    ('instance_mappings', 'user_id', Layout('as of 2026.2')),
    ('cell_mappings', 'disabled', Layout('as of Rocky or later')),
    ('cell_mappings', 'id', Layout('before Rocky')),
)
_OWN_LAYOUT = Layout("this service's own", 74)
# The lowest version, so that every service can start.
_UNKNOWN = Layout('of no era that is known', 2)


def of_cell(db):
    """Return the Layout of a database with hosts.

    db: engine.Database.  Raises DatabaseUnavailable.
    """
    return _find(db, _CELL)


def of_api(db):
    """Return the Layout of an API database; as ``of_cell``."""
    return _find(db, _API)


def _find(db, layouts):
    with db.reading() as connection:
        inspector = sa.inspect(connection)
        present = set(inspector.get_table_names())
        if _OWN in present:
            return _OWN_LAYOUT
        for table, column, layout in layouts:
            if table in present and column in {
                    row['name'] for row in inspector.get_columns(table)}:
                return layout
    return _UNKNOWN
