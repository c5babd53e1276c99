"""Creates and upgrades the scheduler's own database (``db sync|version``).

An empty database gets the tables as they are defined, and the newest version;
an older database is migrated.
"""

import contextlib
import pathlib

import alembic.command
import alembic.config
import alembic.migration

from nova_sched import exception
from nova_sched.db import engine as db_engine
from nova_sched.db import tables

# Nova, which may use the same database, has Alembic's default name.
VERSION_TABLE = 'nova_sched_alembic_version'
# Version tables of Nova and of other services.
_FOREIGN_VERSION_TABLES = ('migrate_version', 'alembic_version')


def sync(conf):
    """Create or upgrade the tables in ``[database] connection``.

    Returns the schema version; does nothing if it is current.
    Raises ConfigurationError for a database whose tables this service did
    not create, and DatabaseUnavailable.
    """
    with contextlib.closing(db_engine.database(conf)) as db:
        db.timeout = None    # Creating tables may take long.
        return sync_database(db)


def version(conf):
    """Return the schema version of ``[database]``; None before ``sync``."""
    with (contextlib.closing(db_engine.database(conf)) as db,
          db.reading() as connection):
        return _version(connection)


def sync_database(db):
    """Create or upgrade the tables in an engine.Database, as ``sync`` does."""
    _make_file(db)
    if present := db.table_names():
        _check_owner(db, present)
    if db.engine.dialect.name == 'sqlite':
        _use_write_ahead_log(db)
    with db.writing() as connection:
        config = _alembic_config()
        config.attributes['connection'] = connection
        if _version(connection) is None:
            # The version table first, so that ``sync`` can be repeated if it
            # is interrupted.
            alembic.command.ensure_version(config)
            tables.metadata.create_all(connection)
            alembic.command.stamp(config, 'head')
        else:
            alembic.command.upgrade(config, 'head')
        return _version(connection)


def check_own_schema(db):
    """Raise ConfigurationError unless ``sync`` created the database.

    Required before any write except to the service record.
    db: engine.Database.
    """
    _check_owner(db, db.table_names())


def _check_owner(db, present):
    others = sorted(present.intersection(_FOREIGN_VERSION_TABLES))
    if VERSION_TABLE in present and not others:
        return
    found = (f'a table {(others or sorted(present))[0]}' if present
             else 'no tables')
    raise exception.ConfigurationError(
        '[database] connection', db.masked,
        f'that database holds {found}: "nova-sched-manage db sync" did not '
        f"make it, probably it is Nova's own. Nothing was changed. Nova's "
        f'database is read as it is, and nothing made up is written to it; '
        f'for a database of its own name an empty one, and run db sync')


def _make_file(db):
    """Create the file of a SQLite database, and its directory."""
    if not db_engine.is_file(db.url):
        return
    path = pathlib.Path(db.url.database)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    except OSError as error:
        raise exception.DatabaseUnavailable(
            f'Database {db.masked}: it cannot be made: {error}') from error


def _use_write_ahead_log(db):
    """Set WAL mode, in which readers and one writer do not block each other.

    The mode is stored in the file.  It cannot be set inside a transaction.
    """
    with db.reading() as connection:
        connection.connection.driver_connection.execute(
            'PRAGMA journal_mode = WAL')


def _version(connection):
    context = alembic.migration.MigrationContext.configure(
        connection, opts={'version_table': VERSION_TABLE})
    return context.get_current_revision()


def _alembic_config():
    config = alembic.config.Config()
    here = str(pathlib.Path(__file__).parent / 'migrations')
    config.set_main_option('script_location', here.replace('%', '%%'))
    config.set_main_option('path_separator', 'os')
    config.attributes['version_table'] = VERSION_TABLE
    return config
