"""DevStack's plugin, run with functions in the place of DevStack's."""

import pathlib
import subprocess

import pytest

DEVSTACK = pathlib.Path(__file__).parent.parent.parent / 'devstack'

#: What DevStack has for plug-ins: each writes how it is called.
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
    """What a phase calls, behind what the settings do: lists of words."""
    ran = subprocess.run(
        ['bash', '-c', _SCRIPT, 'devstack', *phase], check=True, text=True,
        capture_output=True, env={'PATH': '/usr/bin:/bin', **settings})
    assert ran.stderr == ''
    return [line.split('|') for line in ran.stdout.splitlines()
            if not line.startswith('echo_summary')]


SETTINGS = [['define_plugin', 'nova_sched'], ['enable_service', 'nova-sched']]


def test_it_requires_no_other_plugin():
    """Nova is none: a job that looks for its plugin fails."""
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
def test_nova_sched_takes_the_place_of_n_sch_in_each_phase(phase, calls):
    """On nova's own file: its [database] stays that of cell0."""
    assert called(*phase, API_WORKERS='3') == SETTINGS + calls


def test_drivers_that_keep_state_have_their_own_number_of_workers():
    assert called('stack', 'post-config', API_WORKERS='3',
                  NOVA_SCHED_DRIVER='caching_scheduler')[2:] == [
        ['iniset', '/etc/nova/nova.conf', 'scheduler', 'driver',
         'caching_scheduler']]
