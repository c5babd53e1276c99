"""Brokers and databases for functional tests.

``tools/with-services.sh`` starts a RabbitMQ, a MariaDB and a PostgreSQL and
names them in the environment.  A test that needs them is marked ``real`` and
fails where they are not.
"""

import contextlib
import os
import uuid

import pytest
import sqlalchemy as sa

from tests.builders import clouds
from tests.builders import http_placement
from tests.functional import broker as wire
from tests.functional import raw_bus
from tests.functional import stage as stages


def _named(variable):
    url = os.environ.get(variable)
    if not url:
        pytest.fail(f'{variable} is not set: run the functional tests '
                    f'through tools/with-services.sh, or leave out those '
                    f'marked real')
    return url


def broker():
    """URL of a real RabbitMQ without requests of earlier tests.

    The scheduler topic's queue has the same name on every exchange, so it is
    deleted here.  Parallel workers of pytest have virtual hosts of their own.
    """
    url = virtual_host(_named('NOVA_SCHED_TEST_RABBIT_URL'))
    with wire.channel(url) as channel:
        channel.queue_delete('scheduler')
    return url


@pytest.fixture
def bus():
    """A RawBus on a real RabbitMQ."""
    with raw_bus.bus(broker()) as bus:
        yield bus


def virtual_host(url):
    """The URL of a broker in the virtual host of this pytest worker."""
    worker = os.environ.get('PYTEST_XDIST_WORKER')
    return wire.in_virtual_host(url, worker) if worker else url


#: Hosts of tests with a scripted Placement: name -> uuid of its provider.
HOSTS = {host: clouds.a_uuid(number)
         for number, host in enumerate('abcd', 1)}


@pytest.fixture
def placement():
    """A scripted Placement that offers HOSTS and accepts each claim."""
    with http_placement.offering(*HOSTS.values()) as server:
        yield server


MARIADB, POSTGRESQL = DATABASES = ('mariadb', 'postgresql')

#: Kind of database -> the variable that names a server, and its driver.
_SERVERS = {
    MARIADB: ('NOVA_SCHED_TEST_MYSQL_URL', 'mysql+pymysql'),
    POSTGRESQL: ('NOVA_SCHED_TEST_POSTGRESQL_URL', 'postgresql+psycopg2')}


def new_database(kind=MARIADB):
    """An empty database on a real server: (URL, function to drop it).

    kind: one of DATABASES.
    """
    variable, driver = _SERVERS[kind]
    server = sa.make_url(_named(variable)).set(drivername=driver)
    name = f'nova_sched_{uuid.uuid4().hex}'
    # PostgreSQL makes and drops databases outside of transactions only.
    engine = sa.create_engine(server, isolation_level='AUTOCOMMIT')
    with engine.connect() as connection:
        connection.exec_driver_sql(f'CREATE DATABASE {name}')
    forced = ' WITH (FORCE)' if kind == POSTGRESQL else ''

    def drop():
        with engine.connect() as connection:
            connection.exec_driver_sql(
                f'DROP DATABASE IF EXISTS {name}{forced}')
        engine.dispose()

    url = server.set(database=name)
    return url.render_as_string(hide_password=False), drop


@contextlib.contextmanager
def open_stage(directory, backend='real', **options):
    """A Stage on a broker and a database for a block.

    backend: 'real' for RabbitMQ and MariaDB, POSTGRESQL for RabbitMQ and
        PostgreSQL, or the scheme of one of oslo.messaging's in-memory
        transports, with an SQLite file.
    options: of the service, as ``group__option``.
    """
    drop = None
    if backend in ('real', POSTGRESQL):
        transport_url = broker()
        database_url, drop = new_database(
            POSTGRESQL if backend == POSTGRESQL else MARIADB)
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


#: One in-memory transport, and RabbitMQ with each kind of database.
IN_MEMORY_OR_REAL = ('fake', *(
    pytest.param(name, marks=pytest.mark.real)
    for name in ('real', POSTGRESQL)))


@pytest.fixture(params=IN_MEMORY_OR_REAL)
def any_stage(request, tmp_path):
    """A Stage on each of IN_MEMORY_OR_REAL."""
    with open_stage(tmp_path, request.param) as stage:
        yield stage
