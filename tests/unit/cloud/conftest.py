"""Databases to load clouds into and to export them from."""

from tests.unit.db.conftest import conf
from tests.unit.db.conftest import db
from tests.unit.db.conftest import empty_file
from tests.unit.db.conftest import execute
from tests.unit.db.conftest import hosts
from tests.unit.db.conftest import load

__all__ = ('conf', 'db', 'empty_file', 'execute', 'hosts', 'load')
