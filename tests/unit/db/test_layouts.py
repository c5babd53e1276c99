"""Detection of the release that created a database."""

import pytest

from nova_sched.db import engine
from nova_sched.db import layouts


class TestLayouts:
    @pytest.fixture
    def tables(self, tmp_path):
        """Function of tables and their columns: a Database of them."""
        def tables(**columns):
            (tmp_path / 'era.sqlite').touch()
            made = engine.Database(f'sqlite:///{tmp_path}/era.sqlite')
            with made.writing() as connection:
                for table, names in columns.items():
                    connection.exec_driver_sql(
                        f'CREATE TABLE {table} ({names})')
            return made
        return tables

    @pytest.mark.parametrize(('columns', 'words', 'version'), [
        ({'instances': 'hidden, compute_id'}, 'as of 2026.2', 74),
        ({'instances': 'hidden'}, 'newer than Queens, older than 2026.2', 35),
        ({'instances': 'id', 'services': 'uuid'}, 'as of Pike and Queens', 22),
        ({'compute_nodes': 'id, disk_allocation_ratio'},
         'as of Mitaka, before Pike', 9),
        ({'compute_nodes': 'id, ram_allocation_ratio'}, 'as of Liberty', 2),
        ({'compute_nodes': 'id'}, 'as of Kilo', None),
        ({'nova_sched_alembic_version': 'id', 'compute_nodes': 'id'},
         "this service's own", 74),
        ({'compute_nodes': 'host'}, 'of no era that is known', 2),
        ({}, 'of no era that is known', 2)])
    def test_layout_of_cell(self, tables, columns, words, version):
        made = tables(**columns)
        assert layouts.of_cell(made) == layouts.Layout(words, version)
        made.close()

    @pytest.mark.parametrize(('columns', 'words'), [
        ({'instance_mappings': 'user_id', 'cell_mappings': 'id'},
         'as of 2026.2'),
        ({'cell_mappings': 'id, disabled'}, 'as of Rocky or later'),
        ({'cell_mappings': 'id'}, 'before Rocky')])
    def test_layout_of_api_database(self, tables, columns, words):
        made = tables(**columns)
        assert layouts.of_api(made).words == words
        made.close()
