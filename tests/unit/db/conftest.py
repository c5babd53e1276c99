"""Databases of the tests: SQLite files that live as long as a test."""

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
    """Configuration whose [database] is a SQLite file not made yet."""
    conf = nova_conf.new_conf(default_config_files=[])
    conf.set_override('connection', f'sqlite:///{tmp_path}/test.sqlite',
                      'database')
    return conf


@pytest.fixture(scope='session')
def empty_file(tmp_path_factory):
    """A database file with empty tables, to be copied."""
    path = tmp_path_factory.mktemp('db') / 'empty.sqlite'
    db = engine.Database(f'sqlite:///{path}')
    schema.sync_database(db)
    db.close()
    return path


@pytest.fixture
def db(conf, empty_file, tmp_path):
    """That database with its tables."""
    shutil.copy(empty_file, tmp_path / 'test.sqlite')
    db = engine.database(conf)
    yield db
    db.close()


@pytest.fixture
def load(db):
    """Function: put a cloud (keywords of a_cloud) into the database."""
    def load(**lists):
        return cloud_file.load(db.engine, clouds.a_cloud(**lists))
    return load


@pytest.fixture
def hosts(conf, db):
    """A HostReader of the one database."""
    return reader.HostReader(conf)


@pytest.fixture
def execute(db):
    """Function: run one SQL text and commit it."""
    def execute(sql):
        with db.writing() as connection:
            connection.exec_driver_sql(sql)
    return execute
