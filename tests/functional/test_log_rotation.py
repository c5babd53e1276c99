"""Log rotation: the log file is moved away, then SIGHUP."""

import os
import pathlib
import signal
import subprocess

import pytest

from tests.builders.waiting import until
from tests.functional import processes

pytestmark = pytest.mark.real

#: The installed configuration of logrotate.
ROTATION = pathlib.Path(__file__).parents[2] / (
    'etc/logrotate/nova-sched.logrotate')

#: A file of log_config_append with a handler that never reopens its file.
APPENDED = """
[loggers]
keys = root
[handlers]
keys = file, stderr
[formatters]
keys =
[logger_root]
level = INFO
handlers = file, stderr
[handler_file]
class = FileHandler
args = ('{}/nova-sched.log',)
[handler_stderr]
class = StreamHandler
args = ()
"""

#: Ways to configure a log: options of [DEFAULT].
KINDS = {
    'a directory': lambda path: {'log_dir': path},
    'a file of a bounded size': lambda path: {
        'log_file': path / 'nova-sched.log', 'log_rotation_type': 'size'},
    'a file of logging': lambda path: {
        'log_config_append': path.parent / 'logging.ini'}}


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


@pytest.fixture
def logs(tmp_path, kind):
    """The directory of the log."""
    made = tmp_path / 'logs'
    made.mkdir()
    (tmp_path / 'logging.ini').write_text(APPENDED.format(made))
    return made


@pytest.fixture
def options(logs, kind):
    return {'DEFAULT__use_stderr': True} | {
        f'DEFAULT__{name}': value
        for name, value in KINDS[kind](logs).items()}


def opened(pid, directory):
    """Names of the files in a directory that a process has open: set."""
    found = set()
    for link in pathlib.Path(f'/proc/{pid}/fd').iterdir():
        try:
            path = pathlib.Path(os.readlink(link))
        except OSError:
            continue
        if path.parent == directory:
            found.add(path.name)
    return found


def rotate(daemon, logs):
    """Move the log away, and send SIGHUP."""
    os.rename(logs / 'nova-sched.log', logs / 'nova-sched.log.1')
    daemon.signal(signal.SIGHUP)


def assert_rotated(logs, pids):
    """Check that all write to the new file, and no other file appears."""
    for pid in pids:
        until(lambda pid=pid: opened(pid, logs) == {'nova-sched.log'},
              f'process {pid} writes to the new file alone')
    assert {path.name for path in logs.iterdir()} == {
        'nova-sched.log', 'nova-sched.log.1'}


def test_all_processes_write_to_the_new_file(stage, logs, options):
    """Also if the reload refuses the configuration."""
    stage.cloud(4)
    daemon = stage.daemon(
        workers=2, healthcheck__uri=f'unix://{stage.directory}/health',
        **options)
    pids = [daemon.pid, daemon.messenger, daemon.endpoints, *daemon.workers]
    assert all(pids)

    rotate(daemon, logs)
    daemon.wait_for_lines('Configuration read again', times=2)
    assert_rotated(logs, pids)
    assert stage.client().ask()
    assert 'Request for ' in (logs / 'nova-sched.log').read_text()

    stage.config_file(scheduler__max_attempts='many')
    rotate(daemon, logs)
    daemon.wait_for_lines('Not reloading')
    assert_rotated(logs, pids)
    assert stage.client().ask()
    assert 'Request for ' in (logs / 'nova-sched.log').read_text()

    stage.config_file(scheduler__workers=2, scheduler__max_attempts=7,
                      **options)
    daemon.signal(signal.SIGHUP)
    daemon.wait_for_lines('max_attempts: 3 became 7', times=2)
    assert not daemon.lines('Traceback')


@pytest.mark.parametrize('kind', ['a directory'], indirect=True)
def test_service_that_waits_for_its_database_writes_to_the_new_file(
        stage, logs, options):
    """It serves once the database is there."""
    daemon = stage.start(database__retry_interval=1, **options)
    daemon.wait_for_lines('it has no table compute_nodes')
    until(lambda: daemon.workers, 'a worker')
    rotate(daemon, logs)
    assert_rotated(logs, [daemon.pid, *daemon.workers])
    stage.cloud(4)
    daemon.wait_for_lines('Serving requests')


@pytest.mark.parametrize(('words', 'ready'), [
    ('--no-fork', 'Serving requests'),
    ('--shadow', 'Starting as a shadow')])
@pytest.mark.parametrize('kind', ['a directory'], indirect=True)
def test_single_process_writes_to_the_new_file(
        stage, logs, options, words, ready):
    stage.cloud(4)
    with processes.running(
            'nova-sched', [words, '--config-file', stage.config_file(
                **options)], stage.directory / 'output') as daemon:
        daemon.wait_for_lines(ready)
        rotate(daemon, logs)
        assert_rotated(logs, [daemon.pid])
        assert daemon.running


@pytest.mark.parametrize(('words', 'ready', 'said'), [
    ([], 'Serving requests', 'Configuration read again'),
    (['--no-fork'], 'Serving requests', 'Configuration read again'),
    (['--shadow'], 'Starting as a shadow', 'A shadow keeps')])
def test_sighup_during_the_start_ends_no_service(
        stage, words, ready, said):
    """From its first line of Python on."""
    stage.cloud(4)
    with processes.running(
            'nova-sched', [*words, '--config-file', stage.config_file()],
            stage.directory / 'output') as daemon:
        masks = pathlib.Path(f'/proc/{daemon.pid}/status')
        until(lambda: _blocks_sighup(masks.read_text()) or not daemon.running,
              'its own code runs')
        while not daemon.text:
            daemon.signal(signal.SIGHUP)
            assert daemon.running
        daemon.wait_for_lines(ready)
        daemon.wait_for_lines(said)


def _blocks_sighup(status):
    """Whether a process blocks SIGHUP, by its /proc/PID/status."""
    blocked, = [line.split()[1] for line in status.splitlines()
                if line.startswith('SigBlk:')]
    return int(blocked, 16) & 1 << signal.SIGHUP - 1


def test_installed_file_of_logrotate_rotates_the_log(stage, tmp_path):
    """With the test's path and signal command, and without its user."""
    stage.cloud(4)
    logs = tmp_path / 'logs'
    logs.mkdir(mode=0o755)
    daemon = stage.daemon(DEFAULT__use_stderr=True, DEFAULT__log_dir=logs)
    text = ROTATION.read_text()
    for installed, here in (
            ('/var/log/nova-sched/', f'{logs}/'), ('    su nova nova\n', ''),
            ('systemctl kill --kill-who=main --signal=HUP nova-sched.service',
             f'kill -HUP {daemon.pid}')):
        assert installed in text
        text = text.replace(installed, here)
    made = tmp_path / 'logrotate'
    made.write_text(text)
    made.chmod(0o644)
    subprocess.run(['logrotate', '--force', '--state', tmp_path / 'state',
                    made], check=True)
    assert_rotated(logs, [daemon.pid, daemon.messenger, *daemon.workers])
