"""Creating and upgrading the embedded database."""

import os

from alembic import autogenerate
from alembic import migration
from alembic.script import ScriptDirectory
import pytest
import sqlalchemy as sa

from nova_sched import exception
from nova_sched.db import engine
from nova_sched.db import schema
from nova_sched.db import tables
from tests.builders.cloud_database import cell_rows


def newest_version():
    """Return the version of the newest migration."""
    return ScriptDirectory.from_config(
        schema._alembic_config()).get_current_head()


class TestSync:
    def test_schema_is_the_same_as_the_table_definitions(self, conf, db):
        with db.reading() as connection:
            context = migration.MigrationContext.configure(
                connection, opts={'version_table': schema.VERSION_TABLE})
            assert autogenerate.compare_metadata(
                context, tables.metadata) == []

    def test_interrupted_sync_is_completed(self, conf, db):
        with db.writing() as connection:
            connection.exec_driver_sql(f'DELETE FROM {schema.VERSION_TABLE}')
            tables.services.drop(connection)
        assert newest_version() == schema.sync(conf)
        with db.reading() as connection:
            assert sa.inspect(connection).has_table('services')

    def test_version_is_the_newest(self, conf, tmp_path):
        (tmp_path / 'test.sqlite').touch()
        assert schema.version(conf) is None
        assert newest_version() == schema.sync(conf)
        assert newest_version() == schema.version(conf)

    def test_second_sync_changes_nothing(self, conf, load, hosts):
        load(hosts=2)
        assert newest_version() == schema.sync(conf)
        assert len(cell_rows(hosts)[0].compute_nodes) == 2

    def test_directory_of_sqlite_file_is_created(self, conf, tmp_path):
        conf.set_override('connection', f'sqlite:///{tmp_path}/a/b/c.sqlite',
                          'database')
        schema.sync(conf)
        assert os.path.exists(tmp_path / 'a' / 'b' / 'c.sqlite')

    def test_error_names_the_file(self, conf, tmp_path):
        (tmp_path / 'file').write_text('')
        conf.set_override('connection', f'sqlite:///{tmp_path}/file/c.sqlite',
                          'database')
        with pytest.raises(exception.DatabaseUnavailable,
                           match=r'it cannot be made: .*file'):
            schema.sync(conf)

    def test_reader_sees_committed_state_beside_a_writer(self, db):
        with db.writing() as writer:
            writer.execute(tables.aggregates.insert(), {'name': 'new'})
            with db.reading() as reader:
                assert reader.execute(sa.select(tables.aggregates)).all() == []

    @pytest.mark.parametrize('table', [
        'compute_nodes', 'cell_mappings', 'migrate_version',
        'alembic_version', 'users'])
    def test_other_database_is_not_changed(self, conf, tmp_path, table):
        """A cell's, Nova's API, an empty one of Nova, or an unknown one."""
        (tmp_path / 'test.sqlite').touch()
        db = engine.database(conf)
        with db.writing() as connection:
            connection.exec_driver_sql(
                f'CREATE TABLE {table} (id INTEGER PRIMARY KEY)')
        with pytest.raises(exception.ConfigurationError,
                           match="probably it is Nova's own") as caught:
            schema.sync(conf)
        assert caught.value.option == '[database] connection'
        with db.reading() as connection:
            assert sa.inspect(connection).get_table_names() == [table]


class TestOwnSchema:
    def test_empty_database_is_refused(self, conf, tmp_path):
        (tmp_path / 'test.sqlite').touch()
        with pytest.raises(exception.ConfigurationError,
                           match='holds no tables'):
            schema.check_own_schema(engine.database(conf))

    def test_database_with_a_foreign_version_table_is_refused(self, conf, db):
        schema.check_own_schema(db)
        with db.writing() as connection:
            connection.exec_driver_sql(
                'CREATE TABLE migrate_version (version INTEGER)')
        with pytest.raises(exception.ConfigurationError,
                           match='a table migrate_version'):
            schema.check_own_schema(db)
