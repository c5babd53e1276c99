"""DevStack's plugin, run with fakes of DevStack's functions."""

import pathlib
import subprocess

import pytest

DEVSTACK = pathlib.Path(__file__).parent.parent.parent / 'devstack'

#: DevStack's functions for plug-ins: each fake prints its call.
FUNCTIONS = (
    'define_plugin', 'plugin_requires', 'enable_service', 'setup_develop',
    'iniset', 'stop_process', 'run_process', 'echo_summary')
_STUBS = '\n'.join(f'{name}() {{ echo "{name}|$(IFS="|"; echo "$*")"; }}'
                   for name in FUNCTIONS)
_SCRIPT = f"""
set -eu
{_STUBS}
is_service_enabled() {{ [ "$1" = nova-sched ]; }}
DEST=/opt/stack NOVA_CONF=/etc/nova/nova.conf NOVA_BIN_DIR=/opt/bin
source {DEVSTACK}/settings
if [ $# -gt 0 ]; then source {DEVSTACK}/plugin.sh; fi
"""


def called(*phase, **settings):
    """The calls of the settings and then of a phase: lists of words."""
    ran = subprocess.run(
        ['bash', '-c', _SCRIPT, 'devstack', *phase], check=True, text=True,
        capture_output=True, env={'PATH': '/usr/bin:/bin', **settings})
    assert ran.stderr == ''
    return [line.split('|') for line in ran.stdout.splitlines()
            if not line.startswith('echo_summary')]


SETTINGS = [['define_plugin', 'nova_sched'], ['enable_service', 'nova-sched']]


def test_it_requires_no_other_plugin():
    """Nova has no plugin, so a job that requires it fails."""
    assert called() == SETTINGS


@pytest.mark.parametrize(('phase', 'calls'), [
    (('stack', 'install'), [['setup_develop', '/opt/stack/nova_sched']]),
    (('stack', 'post-config'), [
        ['iniset', '/etc/nova/nova.conf', 'scheduler', 'driver',
         'filter_scheduler'],
        ['iniset', '/etc/nova/nova.conf', 'scheduler', 'workers', '3']]),
    (('stack', 'extra'), [
        ['stop_process', 'n-sch'],
        ['run_process', 'nova-sched',
         '/opt/bin/nova-sched --config-file /etc/nova/nova.conf']]),
    (('unstack',), [['stop_process', 'nova-sched']]),
    (('clean',), [])])
def test_nova_sched_replaces_n_sch_in_each_phase(phase, calls):
    """It uses nova.conf, whose [database] is cell0's."""
    assert called(*phase, API_WORKERS='3') == SETTINGS + calls


def test_drivers_with_state_have_the_default_number_of_workers():
    assert called('stack', 'post-config', API_WORKERS='3',
                  NOVA_SCHED_DRIVER='caching_scheduler')[2:] == [
        ['iniset', '/etc/nova/nova.conf', 'scheduler', 'driver',
         'caching_scheduler']]
