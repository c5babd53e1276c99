"""What importing the package brings along."""

import subprocess
import sys

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


def printed(code):
    return subprocess.run(
        [sys.executable, '-W', 'ignore', '-c', code], check=True,
        capture_output=True, text=True).stdout.splitlines()


def test_the_service_starts_without_eventlet_and_plug_ins_may_import_it():
    assert printed(_AFTER_THE_SERVICE) == ['False', 'eventlet']


def test_the_libraries_of_a_process_that_has_eventlet_find_it():
    assert printed(_AFTER_EVENTLET) == ['True']
