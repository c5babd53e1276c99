"""The filter of Kilo's tutorial works as printed.

Its file is in nova/myproject/ on the Python path, its options have the names
of Kilo, and it can be debugged in the terminal.
"""

import concurrent.futures
import contextlib
import os
import pty
import signal
import subprocess
import threading

import oslo_messaging as messaging
import pytest

from nova_sched import exception
from tests.functional import conftest
from tests.functional import processes
from tests.functional import stage as stages

pytestmark = pytest.mark.real

FILTER = """
from oslo_log import log as logging

from nova.scheduler import filters

LOG = logging.getLogger(__name__)


class SpecifiedHostFilter(filters.BaseHostFilter):
    def __init__(self):
        LOG.info("SpecifiedHostFilter is initialized!")

    def host_passes(self, host_state, filter_properties):
        scheduler_hints = filter_properties.get('scheduler_hints', {})
        requested_host = scheduler_hints.get('requested_host', None)
        if requested_host:
            return requested_host == host_state.host
        return True
"""
DEBUGGED = FILTER.replace('        scheduler_hints =', """\
        import pdb; pdb.set_trace()
        scheduler_hints =""")

OPTIONS = {
    'DEFAULT__scheduler_available_filters': [
        'nova.scheduler.filters.all_filters',
        'nova.myproject.specified_host_filter.SpecifiedHostFilter'],
    'DEFAULT__scheduler_default_filters': (
        'RetryFilter,AvailabilityZoneFilter,RamFilter,ComputeFilter,'
        'SpecifiedHostFilter')}


def type_in(directory, text=FILTER, with_init=False):
    """Write the tutorial's files into a directory of the Python path."""
    project = directory / 'nova' / 'myproject'
    project.mkdir(parents=True)
    (project / 'specified_host_filter.py').write_text(text)
    if with_init:
        for package in (project, project.parent):
            (package / '__init__.py').touch()


@pytest.fixture
def stage(tmp_path, monkeypatch):
    monkeypatch.setenv('PYTHONPATH', str(tmp_path), prepend=':')
    with conftest.open_stage(tmp_path) as stage:
        yield stage


@pytest.mark.parametrize('with_init', [True, False],
                         ids=['__init__', 'none'])
def test_printed_filter_decides(stage, tmp_path, with_init):
    type_in(tmp_path, with_init=with_init)
    stage.cloud(3)
    daemon = stage.daemon(**OPTIONS)
    caller = stage.client()

    assert daemon.lines('SpecifiedHostFilter is initialized!')
    for host in ('fake-0001', 'fake-0003'):
        assert stages.names(caller.ask(
            hints={'requested_host': [host]})) == [[host]]
    assert len(caller.ask()[0]) == 3
    with pytest.raises(exception.NoValidHost):
        caller.ask(hints={'requested_host': ['elsewhere']})


class Terminal:
    """A program in a terminal.

    words: its command line.  log: file of its standard error.
    """

    def __init__(self, words, log):
        self._ours, theirs = pty.openpty()
        with log.open('wb') as errors:
            self.process = subprocess.Popen(
                words, stdin=theirs, stdout=theirs, stderr=errors,
                start_new_session=True)
        os.close(theirs)
        self._shown, self._seen = '', 0
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        # The terminal closes with the program.
        with contextlib.suppress(OSError):
            while text := os.read(self._ours, 4096):
                self._shown += text.decode()

    def until(self, words):
        """Wait for these words; return the new output up to them."""
        processes.until(lambda: words in self._shown[self._seen:], words,
                        seconds=processes.SOON)
        begin = self._seen
        self._seen = self._shown.index(words, begin) + len(words)
        return self._shown[begin:self._seen]

    def type(self, line):
        os.write(self._ours, f'{line}\n'.encode())

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._ours)


@pytest.fixture
def terminal(stage, tmp_path):
    """A Terminal with the service, one host and the filter with pdb."""
    type_in(tmp_path, DEBUGGED)
    stage.cloud(1)
    log = tmp_path / 'scheduler.log'
    terminal = Terminal(processes.command_line(
        'nova-sched', '--no-fork', '--logfile', log.name, '--logdir',
        tmp_path, '--config-file', stage.config_file(**OPTIONS)),
        tmp_path / 'stderr')
    try:
        processes.until(
            lambda: log.exists() and 'Serving requests' in log.read_text(),
            'the service serves')
        terminal.log = log
        yield terminal
    finally:
        terminal.end()


def test_filter_can_be_debugged_in_the_terminal(stage, terminal):
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        answer = pool.submit(stage.client().pick)
        terminal.until('(Pdb) ')
        terminal.type('n')
        assert 'requested_host = ' in terminal.until('(Pdb) ')
        terminal.type('p host_state.host')
        assert "'fake-0001'" in terminal.until('(Pdb) ')
        assert not answer.done()
        terminal.type('c')

        assert answer.result(processes.SOON) == 'fake-0001'
    terminal.process.send_signal(signal.SIGHUP)
    processes.until(lambda: 'Configuration read again' in
                    terminal.log.read_text(), 'the configuration is read')
    terminal.process.terminate()
    assert terminal.process.wait(processes.SOON) == 0


def test_debugger_in_a_worker_fails_the_request_with_advice(stage, tmp_path):
    type_in(tmp_path, DEBUGGED)
    stage.cloud(1)
    daemon = stage.daemon(**OPTIONS)

    with pytest.raises(messaging.RemoteError, match='BdbQuit'):
        stage.client().ask()

    daemon.wait_for_lines('run "nova-sched --no-fork" in a terminal')
