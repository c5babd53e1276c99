import multiprocessing
import signal
import subprocess
import sys
import types

import pytest

from nova_sched import version
from nova_sched.cmd import manage
from nova_sched.cmd import scheduler
from tests.builders import logging_files
from tests.builders.case_tables import case_table


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """A function: text of a file -> (exit status, stderr, was it started)."""
    started = []

    class Supervisor:
        def __init__(self, conf, reread, notifier):
            self.conf, self.reread = conf, reread

        def run(self):
            started.append(self.reread().host == self.conf.host)
            return 0
    monkeypatch.setattr(scheduler.supervisor, 'Supervisor', Supervisor)
    monkeypatch.setattr(scheduler.logs, 'setup', lambda *args: None)

    def run_with(text, *words):
        path = tmp_path / 'nova.conf'
        path.write_text(text)
        status = scheduler.main(['--config-file', str(path), *words])
        return status, capsys.readouterr().err, started
    before = {number: signal.getsignal(number)
              for number in (signal.SIGUSR1, signal.SIGUSR2)}
    yield run_with
    for number, handler in before.items():
        signal.signal(number, handler)


def test_a_good_configuration_is_served(run):
    status, errors, started = run('[DEFAULT]\nhost = here\n')
    assert (status, errors, started) == (0, '', [True])


def test_a_log_without_output_is_a_warning_on_stderr(run, tmp_path):
    """The log itself has no output."""
    path = logging_files.a_file(tmp_path)
    status, errors, started = run(
        f'[DEFAULT]\nhost = here\nlog_config_append = {path}\n')
    assert (status, started) == (0, [True])
    assert errors.startswith('nova-sched: warning: [DEFAULT] '
                             f'log_config_append = {path}: ')
    assert errors.count('\n') == 1


def test_the_file_that_asks_for_reports_is_watched(run, caplog, tmp_path):
    """A missing file is logged."""
    run(f'[oslo_reports]\nfile_event_handler = {tmp_path}/report-now\n')
    assert f'file_event_handler = {tmp_path}/report-now: ' in caplog.text


@case_table('cmd-scheduler', 'refused')
def test_a_wrong_value_stops_the_start_with_one_line_and_status_2(
        run, text, option):
    status, errors, started = run(text)
    assert status == 2
    assert not started
    assert errors.count('\n') == 1
    assert errors.startswith(f'nova-sched: error: {option} = ')


def test_under_nova_s_name_it_speaks_by_that(run, monkeypatch):
    monkeypatch.setattr(sys, 'argv', ['/opt/bin/nova-scheduler'])
    _status, errors, _started = run('[scheduler]\nmax_attempts = many\n')
    assert errors.startswith('nova-scheduler: error: [scheduler] ')


@pytest.mark.parametrize('text', [
    '[scheduler]\nmax_attempts = many\nworkers = few\n',
    '[DEFAULT]\ndebug = maybe\nuse_syslog = maybe\n',
    '[filter_scheduler]\nenabled_filters = RamFilters,JsonFilters\n'])
def test_each_wrong_value_has_a_line(run, text):
    _status, errors, _started = run(text)
    assert errors.count('nova-sched: error: ') == 2


def test_a_container_without_semaphores_is_one_error(run, monkeypatch):
    def refused(context):
        raise PermissionError(13, 'Permission denied')
    monkeypatch.setattr(multiprocessing.get_context('fork').__class__, 'Lock',
                        refused)

    status, errors, started = run('')

    assert (status, started) == (2, [])
    assert errors.startswith('nova-sched: error: [Errno 13] Permission denied')
    assert "'/dev/shm'" in errors
    assert errors.count('\n') == 1


def test_a_missing_file_is_an_error(capsys):
    assert scheduler.main(['--config-file', '/nowhere/nova.conf']) == 2
    assert '/nowhere/nova.conf' in capsys.readouterr().err


def test_importing_the_daemon_chooses_native_threads():
    """Before oslo.messaging could make oslo.service choose eventlet."""
    code = ('import nova_sched.cmd.scheduler; '
            'from oslo_service import backend; '
            'print(backend.get_backend_type().value)')
    run = subprocess.run([sys.executable, '-c', code], check=True,
                         capture_output=True, text=True)
    assert (run.stdout, run.stderr) == ('threading\n', '')


@pytest.mark.parametrize('name', ['scheduler', 'manage'])
def test_imports_run_without_garbage_collection(name):
    code = ('import gc; from nova_sched import cmd; rounds = []; '
            'gc.callbacks.append(lambda *told: rounds.append(told)); '
            f'cmd._imported("nova_sched.cmd.{name}"); '
            'print(rounds, gc.isenabled(), gc.get_freeze_count() > 10_000)')
    run = subprocess.run([sys.executable, '-c', code], check=True,
                         capture_output=True, text=True)
    assert run.stdout == '[] True True\n'


def test_a_log_that_cannot_be_opened_after_all_is_one_line(run, monkeypatch):
    """Whatever has become of it since it was looked at."""
    def fail(conf):
        raise PermissionError(13, 'Permission denied', '/var/log/x')
    monkeypatch.setattr(scheduler.logs, 'setup', fail)

    status, errors, started = run('')
    assert (status, started) == (2, [])
    assert errors == ("nova-sched: error: [Errno 13] Permission denied: "
                      "'/var/log/x'\n")


@pytest.mark.parametrize(('main', 'name'), [
    (scheduler.main, 'nova-sched'), (manage.main, 'nova-sched-manage')])
def test_both_programs_print_their_version(main, name, capsys, monkeypatch):
    monkeypatch.setattr(sys, 'argv', [name])
    with pytest.raises(SystemExit) as ended:
        main(['--version'])

    assert ended.value.code == 0
    assert capsys.readouterr().out.endswith(f' {version.version_string()}\n')


@pytest.fixture
def shadows(monkeypatch):
    """The configurations of shadows that have run."""
    ran = []
    monkeypatch.setattr(scheduler.shadow, 'run', lambda conf, notifier: (
        ran.append((conf.host, notifier.watchdog)), 7)[1])
    return ran


def test_a_shadow_runs_in_place_of_the_service(run, shadows, monkeypatch):
    monkeypatch.setenv('WATCHDOG_USEC', '5000000')
    status, errors, started = run(
        '[DEFAULT]\nhost = here\ntransport_url = rabbit://h\n', '--shadow')
    assert (status, errors, started) == (7, '', [])
    assert shadows == [('here', 5)]


def test_a_shadow_needs_a_broker(run, shadows):
    status, errors, started = run(
        '[DEFAULT]\ntransport_url = fake://\n', '--shadow')
    assert (status, shadows, started) == (2, [], [])
    assert 'transport_url' in errors
    assert errors.count('\n') == 1


@pytest.mark.parametrize('driver', ['filter_scheduler', 'caching_scheduler'])
def test_no_fork_serves_in_this_process_as_one_worker(
        run, monkeypatch, caplog, driver):
    """In place of the supervisor, with its exit status."""
    caplog.set_level('INFO', 'nova_sched')
    monkeypatch.setattr(
        scheduler.supervisor, 'Foreground', lambda conf, notifier: (
            types.SimpleNamespace(run=lambda: (
                f'{conf.scheduler.workers} worker has ended'))))
    text = f'[scheduler]\ndriver = {driver}\nworkers = 4\n'

    assert run(text, '--no-fork') == ('1 worker has ended', '', [])
    assert '; workers 1; ' in caplog.text
    run(text)
    assert '; workers 4; ' in caplog.text


def test_an_unknown_option_is_logged_with_the_nearest(run, caplog):
    run('[scheduler]\nmax_attempt = 3\n')
    assert ('[scheduler] max_attempt is not an option; did you mean '
            'max_attempts?' in caplog.messages)


@pytest.mark.parametrize('api', [True, False])
def test_the_start_logs_the_setup_without_passwords(run, caplog, api):
    caplog.set_level('INFO', 'nova_sched')
    run('[DEFAULT]\ntransport_url = rabbit://u:open-sesame@bus/\n'
        '[database]\nconnection = mysql://u:open-sesame@one/d\n' + (
            '[api_database]\nconnection = mysql://u:open-sesame@two/d\n'
            if api else ''))
    [line] = [line for line in caplog.messages
              if line.startswith('Starting with driver filter_scheduler; ')]
    assert '; database mysql+pymysql://u:***@one/d; ' in line
    assert ('; API database mysql+pymysql://u:***@two/d; ' in line) is api
    assert line.endswith('; message broker rabbit://u:***@bus/')
    assert 'sesame' not in line
