"""Making and upgrading the scheduler's own database."""

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
    """The version of the newest migration."""
    return ScriptDirectory.from_config(
        schema._alembic_config()).get_current_head()


class TestSync:
    def test_makes_the_schema_that_the_table_definitions_describe(
            self, conf, db):
        with db.reading() as connection:
            context = migration.MigrationContext.configure(
                connection, opts={'version_table': schema.VERSION_TABLE})
            assert autogenerate.compare_metadata(
                context, tables.metadata) == []

    def test_goes_on_where_it_was_cut_off(self, conf, db):
        with db.writing() as connection:
            connection.exec_driver_sql(f'DELETE FROM {schema.VERSION_TABLE}')
            tables.services.drop(connection)
        assert newest_version() == schema.sync(conf)
        with db.reading() as connection:
            assert sa.inspect(connection).has_table('services')

    def test_reports_the_newest_version(self, conf):
        assert newest_version() == schema.sync(conf)
        assert newest_version() == schema.version(conf)

    def test_changes_nothing_the_second_time(self, conf, load, hosts):
        load(hosts=2)
        assert newest_version() == schema.sync(conf)
        assert len(cell_rows(hosts)[0].compute_nodes) == 2

    def test_makes_the_directory_of_an_sqlite_file(self, conf, tmp_path):
        conf.set_override('connection', f'sqlite:///{tmp_path}/a/b/c.sqlite',
                          'database')
        schema.sync(conf)
        assert os.path.exists(tmp_path / 'a' / 'b' / 'c.sqlite')

    def test_says_which_file_it_cannot_make(self, conf, tmp_path):
        (tmp_path / 'file').write_text('')
        conf.set_override('connection', f'sqlite:///{tmp_path}/file/c.sqlite',
                          'database')
        with pytest.raises(exception.DatabaseUnavailable,
                           match=r'it cannot be made: .*file'):
            schema.sync(conf)

    def test_lets_readers_and_a_writer_work_side_by_side(self, db):
        """A reader sees the last committed state while a writer is busy."""
        with db.writing() as writer:
            writer.execute(tables.aggregates.insert(), {'name': 'new'})
            with db.reading() as reader:
                assert reader.execute(
                    sa.select(tables.aggregates)).all() == []

    @pytest.mark.parametrize('table', [
        'compute_nodes', 'cell_mappings', 'migrate_version',
        'alembic_version', 'users'])
    def test_leaves_a_database_of_others_alone(self, conf, tmp_path, table):
        """Of a cell, of Nova's API, empty so far, or of somebody else."""
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


class TestOurs:
    def test_is_what_was_synchronized(self, conf, db):
        schema.check_own_schema(db)

    def test_is_not_what_is_empty(self, conf, tmp_path):
        (tmp_path / 'test.sqlite').touch()
        with pytest.raises(exception.ConfigurationError,
                           match='holds no tables'):
            schema.check_own_schema(engine.database(conf))

    def test_is_not_what_others_have_a_version_of(self, conf, db):
        with db.writing() as connection:
            connection.exec_driver_sql(
                'CREATE TABLE migrate_version (version INTEGER)')
        with pytest.raises(exception.ConfigurationError,
                           match='a table migrate_version'):
            schema.check_own_schema(db)


class TestVersion:
    def test_is_none_before_the_first_sync(self, conf, tmp_path):
        (tmp_path / 'test.sqlite').touch()
        assert schema.version(conf) is None
