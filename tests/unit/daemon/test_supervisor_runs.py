"""The parent process, from its first step to its exit status."""

import signal
import sys
import types

import pytest

from nova_sched import conf as config
from nova_sched import exception
from nova_sched.daemon import sighup
from nova_sched.daemon import supervisor
from nova_sched.daemon.messenger import Messenger
from tests.builders import rules
from tests.unit.daemon.test_supervisor import Notes


class TestRun:
    """The parent process, but that nothing is forked of it."""

    @pytest.fixture
    def notes(self):
        return Notes()

    @pytest.fixture
    def run(self, monkeypatch, notes):
        """Function of what the launcher's wait does: (status, deeds).

        deeds: what was done, in order, as (name, value).
        """
        deeds, wait = [], None

        def launch(conf, worker, workers):
            deeds.append(('fork', workers))
            return types.SimpleNamespace(
                launch_service=lambda service: deeds.append(
                    ('fork', type(service))),
                wait=lambda: deeds.append(('wait', None)) or wait(worker))

        monkeypatch.setattr(supervisor.backend, 'get_component',
                            {'launch': launch}.get)
        monkeypatch.setattr(signal, 'pthread_sigmask', lambda how, signals: (
            deeds.append(('mask', (how, signals)))))
        monkeypatch.setattr(signal, 'signal', lambda number, act: (
            deeds.append(('handle', number)), act(number, None)))
        monkeypatch.setattr(
            sighup.SighupHandler, 'call_on_sighup', lambda _, act: (
            deeds.append(('on hangup', act))))
        monkeypatch.setattr(supervisor.watchdog.Watchdog, 'watch', lambda _: (
            deeds.append(('watch', None))))

        def run(does):
            nonlocal wait
            wait = does
            made = supervisor.Supervisor(
                rules.a_conf(scheduler__workers=3), rules.a_conf, notes)
            return made, made.run(), deeds
        return run

    def test_forks_workers_and_looks_after_them(self, run, notes):
        """A hangup is blocked before, so that all of them inherit that."""
        made, status, deeds = run(lambda worker: 0)
        assert status == 0
        assert deeds == [
            ('mask', (signal.SIG_BLOCK, {signal.SIGHUP})), ('fork', 3),
            ('fork', Messenger), ('handle', signal.SIGTERM),
            ('on hangup', made._reload), ('watch', None), ('wait', None)]
        assert notes.names == ['stopping']

    @pytest.mark.parametrize('status', [1, 143])
    def test_ends_as_the_launcher_does(self, run, status):
        assert run(lambda worker: status)[1] == status
        assert run(lambda worker: sys.exit(status))[1] == status

    def test_ends_with_2_when_a_worker_refused_its_options(self, run):
        assert run(lambda worker: worker._refused.set())[1] == 2


class TestForeground:
    @pytest.fixture
    def handlers(self, monkeypatch):
        """What is done on which signal; no signal is blocked."""
        found = {}
        monkeypatch.setattr(signal, 'signal', found.__setitem__)
        monkeypatch.setattr(signal, 'pthread_sigmask', lambda *_: None)
        monkeypatch.setattr(
            sighup.SighupHandler, 'call_on_sighup', lambda _, act: (
            found.update({signal.SIGHUP: act})))
        return found

    @pytest.fixture
    def served(self, handlers):
        return supervisor.Foreground(rules.a_conf(), Notes())

    def test_ends_with_2_when_its_options_are_refused(
            self, served, monkeypatch, caplog):
        def refuse():
            raise exception.ConfigurationError('[a] b', 'c', 'd')
        monkeypatch.setattr(served, 'start', refuse)

        assert served.run() == 2
        assert "[a] b = 'c'" in caplog.text

    def test_names_what_is_refused_as_the_files_do(
            self, handlers, monkeypatch, caplog, tmp_path):
        path = tmp_path / 'nova.conf'
        path.write_text('[DEFAULT]\nscheduler_max_attempts = 3\n')
        served = supervisor.Foreground(
            config.new_conf([], [str(path)]), Notes())

        def refuse():
            raise exception.ConfigurationError(
                '[scheduler] max_attempts', '3', 'too few')
        monkeypatch.setattr(served, 'start', refuse)

        assert served.run() == 2
        assert "[DEFAULT] scheduler_max_attempts = '3'" in caplog.text

    @pytest.mark.parametrize('number', [signal.SIGTERM, signal.SIGINT])
    def test_ends_by_a_signal_and_at_once_by_a_second(
            self, served, handlers, monkeypatch, number):
        monkeypatch.setattr(
            served, 'start', lambda: handlers[number](number, None))

        assert served.run() == 0
        assert handlers.pop(signal.SIGHUP)
        assert handlers == dict.fromkeys(
            (signal.SIGTERM, signal.SIGINT), signal.SIG_DFL)

    def test_a_hangup_while_it_starts_is_acted_on_once_it_serves(
            self, served, handlers, monkeypatch):
        acts = []
        monkeypatch.setattr(served, 'reset', lambda: acts.append(1))
        monkeypatch.setattr(served, 'wait', lambda: None)

        def start():
            handlers[signal.SIGHUP]()
            assert acts == []
            served._serving.set()
        monkeypatch.setattr(served, 'start', start)

        served.run()
        assert acts == [1]
