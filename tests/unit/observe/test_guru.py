"""Guru Meditation reports of a process."""

import os
import pathlib
import signal

import pytest

from nova_sched import conf as config
from nova_sched.observe import guru
from tests.functional import processes

SECRETS = pathlib.Path(__file__).parents[2].joinpath(
    'data', 'secrets.conf').read_text()


@pytest.fixture(autouse=True)
def unanswered():
    """Signals as they were before."""
    before = {number: signal.getsignal(number)
              for number in (signal.SIGUSR1, signal.SIGUSR2)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def conf(tmp_path):
    """A configuration with secrets, and reports in a directory."""
    path = tmp_path / 'nova.conf'
    path.write_text(f'{SECRETS}[oslo_reports]\nlog_dir = {tmp_path}\n')
    return config.new_conf([], [str(path)])


def report(directory):
    """The text of the only report in a directory; None without one."""
    found = list(pathlib.Path(directory).glob('*_gurumeditation_*'))
    return found[0].read_text() if found else None


def test_a_signal_is_answered_with_a_report_in_a_file(conf, tmp_path):
    guru.answer_signals(conf)
    os.kill(os.getpid(), signal.SIGUSR2)
    text = report(tmp_path)
    assert 'product = nova_sched' in text
    assert 'test_a_signal_is_answered_with_a_report_in_a_file' in text
    assert "isolated_hosts = ['http://nova:****@h/']" in text
    assert 'connection = ****' in text
    assert 'transport_url = ****' in text
    assert 'geheim' not in text
    assert [path.name.split('_')[0] for path in tmp_path.glob('*_*')] == [
        f'nova-sched-{os.getpid()}']


def test_without_a_directory_it_goes_to_stderr(conf, capsys):
    conf.set_override('log_dir', None, 'oslo_reports')
    guru.answer_signals(conf)
    os.kill(os.getpid(), signal.SIGUSR2)
    assert 'Guru Meditation' in capsys.readouterr().err


def test_a_malformed_option_does_not_prevent_a_report(conf, tmp_path):
    (tmp_path / 'nova.conf').write_text(
        f'[scheduler]\nmax_attempts = many\n[oslo_reports]\n'
        f'log_dir = {tmp_path}\n')
    conf.reload_config_files()
    guru.answer_signals(conf)
    os.kill(os.getpid(), signal.SIGUSR2)
    assert 'Configuration' in report(tmp_path)


class TestByAFile:
    @pytest.fixture
    def watched(self, conf, tmp_path):
        path = tmp_path / 'report-now'
        conf.set_override('file_event_handler', str(path), 'oslo_reports')
        return path

    def test_its_change_is_answered_and_the_signal_does_nothing(
            self, conf, watched, tmp_path):
        watched.touch()
        os.utime(watched, (0, 0))
        guru.answer_signals(conf)
        guru.watch_file(conf)
        os.kill(os.getpid(), signal.SIGUSR2)
        assert report(tmp_path) is None
        os.utime(watched, (2 ** 32, 2 ** 32))
        processes.until(lambda: report(tmp_path), 'a report')

    def test_a_missing_file_is_one_log_line(self, conf, watched, caplog):
        guru.watch_file(conf)
        assert caplog.messages == [
            f'[oslo_reports] file_event_handler = {watched}: No such file '
            'or directory; no reports are written. Make the file and '
            'restart']
