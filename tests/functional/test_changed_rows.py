"""Incremental reads on MariaDB and PostgreSQL.

NOVA_SCHED_TEST_INTERLEAVINGS_REAL: number of random courses of writes, by
default 60 with --everything and 20 without.
"""

import os

import pytest
import sqlalchemy as sa

from nova_sched.cloud import file as cloud_file
from nova_sched.db import engine
from nova_sched.db import schema
from tests.builders import clouds
from tests.builders import interleavings
from tests.builders import rules
from tests.builders.examples import so_many
from tests.functional import conftest

pytestmark = pytest.mark.real

COUNT = int(os.environ.get('NOVA_SCHED_TEST_INTERLEAVINGS_REAL', so_many(60)))


@pytest.fixture(params=conftest.DATABASES)
def cell(request):
    """A CellReader of a database with interleavings.HOSTS hosts."""
    url, drop = conftest.new_database(request.param)
    database = engine.Database(url)
    schema.sync_database(database)
    cloud_file.load(database.engine, clouds.a_cloud(interleavings.HOSTS))
    cell, hosts = interleavings.cell_of(rules.a_conf(
        database__connection=url,
        DEFAULT__service_down_time=interleavings.DOWN))
    yield cell
    hosts.close()
    database.close()
    drop()


def test_no_change_is_missed(cell, monkeypatch):
    interleavings.run(cell, monkeypatch, COUNT)


@pytest.mark.parametrize('cell', ['mariadb'], indirect=True)
def test_no_change_is_missed_if_the_server_truncates_texts(cell, monkeypatch):
    """MySQL's default group_concat_max_len is 1024."""
    @sa.event.listens_for(cell.db.engine, 'connect')
    def cut(connection, record):
        with connection.cursor() as cursor:
            cursor.execute('SET SESSION group_concat_max_len = 30')

    interleavings.run(cell, monkeypatch, COUNT)
