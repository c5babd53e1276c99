"""nova-sched-manage ping: the output and the exit code."""

import pytest

from nova_sched.cmd.manage import db
from nova_sched.cmd.manage import exits
from nova_sched.cmd.manage import scheduler_rpc
from nova_sched.preflight import message_broker
from nova_sched.preflight.rows import ERROR
from nova_sched.preflight.rows import Row


@pytest.fixture
def ping(run, database):
    return lambda *words: run('--database', database.url, '--transport-url',
                              'fake://', 'ping', '--timeout', 1, *words)


@pytest.mark.parametrize(('counted', 'code'), [([('h:5672', 0)], 1), ([], 3)])
def test_without_a_service_exits_with_1_if_there_is_a_broker(
        ping, monkeypatch, counted, code):
    """Another kind of broker may be absent as well."""
    monkeypatch.setattr(message_broker, 'consumers',
                        lambda conf, seconds: (counted, []))
    ended = ping()

    assert ended.code == code
    assert 'No answer within 1 seconds from fake:' in ended.out
    assert ('0 consumer(s)' in ended.out) == bool(counted)


def test_a_scheduler_that_answers_with_an_error_is_there(ping, monkeypatch):
    def fail(conf, seconds, make_call):
        raise exits.exception.NovaSchedException('It failed')
    monkeypatch.setattr(scheduler_rpc, 'call', fail)
    ended = ping()

    assert ended.code == 0
    assert ended.out == 'A scheduler responded with an error: It failed\n'


@pytest.mark.parametrize('command', [('ping',), ('request', 'call')])
def test_an_unreachable_broker_exits_with_3(run, monkeypatch, command):
    monkeypatch.setattr(message_broker, 'consumers', lambda conf, seconds: (
        [], [Row('broker', ERROR, 'h:5672: refused', 'Check that it runs')]))
    ended = run('--transport-url', 'rabbit://h', *command)

    assert ended.code == 3
    assert 'h:5672: refused. Check that it runs' in ended.err


@pytest.mark.parametrize('count', [None, 0])
def test_a_request_that_nobody_would_take_is_not_sent(run, monkeypatch, count):
    """A conductor's message would wait for a scheduler, and so would this."""
    monkeypatch.setattr(message_broker, 'consumers',
                        lambda conf, seconds: ([('h:5672', count)], []))
    ended = run('--transport-url', 'fake://h', 'request', 'call')

    assert ended.code == 3
    assert 'The queue scheduler has no consumer at fake://h' in (ended.err)


def test_one_answering_host_of_a_cluster_is_enough(monkeypatch):
    monkeypatch.setattr(message_broker, 'consumers', lambda conf, seconds: (
        [('b:5672', 2), ('c:5672', 2)], [Row('broker', ERROR, 'a: refused')]))

    assert scheduler_rpc.consumers(None, 1) == [('b:5672', 2)]


class TestExitCodes:
    @pytest.mark.parametrize(('error', 'code'), [
        (exits.exception.ConfigurationError('[a] b', 1, 'no'), 2),
        (exits.exception.InvalidInput(reason='no'), 2),
        (exits.exception.DatabaseUnavailable('no'), 3),
        (exits.exception.PlacementError('no'), 3),
        (scheduler_rpc.NotServed('no'), 3),
        (exits.exception.NoValidHost(reason='no'), 1),
        (LookupError('no'), 1)])
    def test_go_by_what_a_command_fails_with(
            self, run, monkeypatch, error, code):
        def fail(self, parsed_args):
            raise error
        monkeypatch.setattr(db.Version, 'take_action', fail)
        ended = run('--database', 'sqlite://', 'db', 'version')

        assert ended.code == code
        assert 'no' in ended.err
        assert 'Traceback' not in ended.err

    def test_hide_no_traceback_that_is_asked_for(self, run):
        ended = run('--debug', '--database', 'sqlite:////nowhere/x', 'db',
                    'version')

        assert ended.code != 0
        assert 'Traceback' in ended.err


def test_a_directory_of_files_is_read_as_by_the_service(run, tmp_path):
    """Behind the files, in the order of their names."""
    (tmp_path / 'd').mkdir()
    for name, text in (('a.conf', '[scheduler]\nmax_attempts = 1\n'),
                       ('d/b.conf', '[scheduler]\nmax_attempts = many\n')):
        (tmp_path / name).write_text(text)
    ended = run('--config-file', tmp_path / 'a.conf',
                '--config-dir', tmp_path / 'd', 'config', 'check',
                '-f', 'value')

    assert ended.code == 2
    assert f'{tmp_path}/a.conf, {tmp_path}/d/b.conf' in ended.out
    assert "'many'" in ended.out
