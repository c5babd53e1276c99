"""Brokers and databases for functional tests.

``tools/with-services.sh`` starts a RabbitMQ and a MariaDB and names them in
the environment.  A test that needs them is marked ``real`` and fails where
they are not.
"""

import contextlib
import os
import uuid

import kombu
import pytest
import sqlalchemy as sa

from tests.functional import broker as wire
from tests.functional import stage as stages


def _named(variable):
    url = os.environ.get(variable)
    if not url:
        pytest.fail(f'{variable} is not set: run the functional tests '
                    f'through tools/with-services.sh, or leave out those '
                    f'marked real')
    return url


def broker():
    """URL of a real RabbitMQ, without what earlier tests left in it.

    The queues of the scheduler's topic have the same names on whatever
    exchange; requests in them that nobody took would reach the next test.
    """
    url = _named('NOVA_SCHED_TEST_RABBIT_URL')
    with kombu.Connection(wire.plain_url(url)) as connection:
        connection.default_channel.queue_delete('scheduler')
    return url


def new_database():
    """An empty database on a real MariaDB: (URL, function to drop it)."""
    server = sa.make_url(_named('NOVA_SCHED_TEST_MYSQL_URL')).set(
        drivername='mysql+pymysql')
    name = f'nova_sched_{uuid.uuid4().hex}'
    engine = sa.create_engine(server)
    with engine.begin() as connection:
        connection.exec_driver_sql(f'CREATE DATABASE {name}')

    def drop():
        with engine.begin() as connection:
            connection.exec_driver_sql(f'DROP DATABASE IF EXISTS {name}')
        engine.dispose()

    url = server.set(database=name)
    return url.render_as_string(hide_password=False), drop


@contextlib.contextmanager
def open_stage(directory, backend='real', **options):
    """A Stage on a pair of broker and database, for the time of a block.

    backend: 'real', or the scheme of one of oslo.messaging's transports in
        memory, which goes with an SQLite file.
    options: of the service, as ``group__option``.
    """
    drop = None
    if backend == 'real':
        transport_url = broker()
        database_url, drop = new_database()
    else:
        transport_url = f'{backend}://'
        database_url = f'sqlite:///{directory}/nova_sched.sqlite'
    stage = stages.Stage(directory, transport_url, database_url, **options)
    try:
        yield stage
    finally:
        stage.close()
        if drop:
            drop()


#: All pairs of broker and database, for parametrization.
BACKENDS = ('fake', 'kombu+memory',
            pytest.param('real', marks=pytest.mark.real))


@pytest.fixture
def stage(tmp_path):
    """A Stage on a real RabbitMQ and a real MariaDB."""
    with open_stage(tmp_path) as stage:
        yield stage


@pytest.fixture(params=BACKENDS)
def any_stage(request, tmp_path):
    """A Stage on each of BACKENDS."""
    with open_stage(tmp_path, request.param) as stage:
        yield stage
