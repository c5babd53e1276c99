"""Brokers and databases for functional tests.

``tools/with-services.sh`` starts a RabbitMQ and a MariaDB and names them in
the environment.  A test that needs them is marked ``real`` and fails where
they are not.
"""

import os
import uuid

import pytest
import sqlalchemy as sa



def _named(variable):
    url = os.environ.get(variable)
    if not url:
        pytest.fail(f'{variable} is not set: run the functional tests '
                    f'through tools/with-services.sh, or leave out those '
                    f'marked real')
    return url


@pytest.fixture
def rabbit_url():
    """URL of a real RabbitMQ."""
    return _named('NOVA_SCHED_TEST_RABBIT_URL')


@pytest.fixture
def mysql_url():
    """URL of an empty database on a real MariaDB, dropped afterwards."""
    server = sa.make_url(_named('NOVA_SCHED_TEST_MYSQL_URL')).set(
        drivername='mysql+pymysql')
    name = f'nova_sched_{uuid.uuid4().hex}'
    engine = sa.create_engine(server)
    with engine.begin() as connection:
        connection.exec_driver_sql(f'CREATE DATABASE {name}')
    yield server.set(database=name).render_as_string(hide_password=False)
    with engine.begin() as connection:
        connection.exec_driver_sql(f'DROP DATABASE {name}')
    engine.dispose()


@pytest.fixture
def sqlite_url(tmp_path):
    """URL of an SQLite file that does not exist yet."""
    return f'sqlite:///{tmp_path}/nova_sched.sqlite'


@pytest.fixture(params=[
    'embedded', pytest.param('real', marks=pytest.mark.real)])
def backend(request):
    """(transport URL, database URL): in memory and a file, or real."""
    if request.param == 'real':
        return (request.getfixturevalue('rabbit_url'),
                request.getfixturevalue('mysql_url'))
    return 'fake://', request.getfixturevalue('sqlite_url')
