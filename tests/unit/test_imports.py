"""Imports of the package load no more libraries than needed."""

import subprocess
import sys

import pytest

_AFTER_THE_SERVICE = """
import sys
import nova_sched.cmd.manage
import nova_sched.cmd.scheduler
print('eventlet' in sys.modules)
import eventlet
print(eventlet.__name__)
"""

_AFTER_EVENTLET = """
import eventlet
import nova_sched
from oslo_messaging import _utils
print(_utils.eventlet is eventlet)
"""


_AFTER_THE_VERSION = """
import sys
from nova_sched.cmd import manage
try:
    manage.main(['--version'])
except SystemExit:
    pass
print(sorted({'oslo_config', 'oslo_messaging', 'sqlalchemy', 'numpy',
              'keystoneauth1'} & sys.modules.keys()))
"""

_THREADS = """
{first}
import nova_sched.service
from oslo_service import backend
print(backend.get_backend_type().name, 'eventlet' in sys.modules)
"""


def printed(code):
    return subprocess.run(
        [sys.executable, '-W', 'ignore', '-c', code], check=True,
        capture_output=True, text=True).stdout.splitlines()


def test_service_starts_without_eventlet_but_plug_ins_may_import_it():
    assert printed(_AFTER_THE_SERVICE) == ['False', 'eventlet']


def test_libraries_use_an_eventlet_imported_before():
    assert printed(_AFTER_EVENTLET) == ['True']


def test_version_option_imports_no_library_of_the_service():
    """They are nine tenths of the import time."""
    assert printed(_AFTER_THE_VERSION)[-1] == '[]'


@pytest.mark.parametrize('first', ['oslo_messaging', 'futurist',
                                   'oslo_service.service'])
def test_services_run_on_threads_in_any_order_of_imports(first):
    assert printed('import nova_sched, sys\n' + _THREADS.format(
        first=f'import {first}')) == ['THREADING False']
