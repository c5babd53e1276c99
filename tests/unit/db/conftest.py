"""Databases for tests: SQLite files."""

import shutil

import pytest

from nova_sched import conf as nova_conf
from nova_sched.cloud import file as cloud_file
from nova_sched.db import engine
from nova_sched.db import reader
from nova_sched.db import schema
from tests.builders import clouds


@pytest.fixture
def conf(tmp_path):
    """Configuration with a SQLite file that does not exist yet."""
    conf = nova_conf.new_conf(default_config_files=[])
    conf.set_override('connection', f'sqlite:///{tmp_path}/test.sqlite',
                      'database')
    return conf


@pytest.fixture(scope='session')
def empty_file(tmp_path_factory):
    """A database file with empty tables, to copy."""
    path = tmp_path_factory.mktemp('db') / 'empty.sqlite'
    db = engine.Database(f'sqlite:///{path}')
    schema.sync_database(db)
    db.close()
    return path


@pytest.fixture
def db(conf, empty_file, tmp_path):
    """The database of ``conf`` with its tables."""
    shutil.copy(empty_file, tmp_path / 'test.sqlite')
    db = engine.database(conf)
    yield db
    db.close()


@pytest.fixture
def load(db):
    """Function: load a cloud (keywords of a_cloud) into the database."""
    def load(**lists):
        return cloud_file.load(db.engine, clouds.a_cloud(**lists))
    return load


@pytest.fixture
def hosts(conf, db):
    """A HostReader of the database."""
    return reader.HostReader(conf)


@pytest.fixture
def execute(db):
    """Function: run and commit a statement."""
    def execute(sql):
        with db.writing() as connection:
            connection.exec_driver_sql(sql)
    return execute
