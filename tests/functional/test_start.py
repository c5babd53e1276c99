"""The start of nova-sched with wrong options or missing servers."""

import os
import signal

import pytest
import sqlalchemy as sa

from tests.functional import broker
from tests.functional import captures
from tests.functional import processes

pytestmark = pytest.mark.real

DATABASE_PASSWORD = 'db/p4ss-of-nova'
TOKEN = 'tok-redacted'     # in the captured messages


def with_password(database_url, **query):
    """The URL with a password, which the tests' MariaDB ignores."""
    url = sa.make_url(database_url).set(password=DATABASE_PASSWORD)
    return url.update_query_dict(query).render_as_string(
        hide_password=False)


def is_answering(stage):
    """Whether a scheduler answers."""
    return len(stage.client().ask()[0]) == 3


@pytest.fixture
def supervised(stage):
    """(arguments of Stage.start, notifications to systemd)."""
    with processes.supervisor_socket(stage.directory) as (address, received):
        yield {'environ': {'NOTIFY_SOCKET': address}}, received


def ready(received):
    return any('READY=1' in text for text in received)


def notified(received, words):
    return any(words in text for text in received)


def test_start_waits_for_a_missing_broker(stage, supervised):
    """It logs a line, is not ready, and serves later."""
    arguments, received = supervised
    stage.cloud(4)
    door = stage.door_to_broker()
    daemon = stage.start(
        DEFAULT__transport_url=door.url, **arguments)
    line, = daemon.wait_for_lines('does not answer yet')
    assert f'rabbit://pifpaf:***@127.0.0.1:{door.port}' in line
    assert notified(received, 'STATUS=Waiting for the message broker')
    assert not ready(received)
    door.open()
    processes.until(lambda: ready(received), 'it is ready')
    assert is_answering(stage)
    assert not daemon.lines('Traceback')


def test_start_retries_a_refusing_broker(stage):
    """The log has the broker's text, without the password."""
    stage.cloud(4)
    url = stage.transport_url.replace(':secret@', ':wrong-p4ss@')
    daemon = stage.start(DEFAULT__transport_url=url)
    line, = daemon.wait_for_lines('refuses this service')
    assert 'ACCESS_REFUSED' in line
    status, seconds = daemon.stop()
    assert (status, seconds < processes.SOON) == (0, True)
    assert not daemon.lines('Traceback')
    assert not daemon.lines('wrong-p4ss')


def test_start_waits_for_a_missing_database(stage, supervised, tmp_path):
    """It logs a line a try, is not ready, and serves later."""
    arguments, received = supervised
    stage.cloud(4)
    socket = sa.make_url(stage.database_url).query['unix_socket']
    daemon = stage.start(
        database__connection=with_password(
            stage.database_url, unix_socket=str(tmp_path / 'later.socket')),
        database__retry_interval=1, **arguments)
    lines = daemon.wait_for_lines('Attempt', times=2)
    assert all('mysql+pymysql://root:***@localhost/' in line
               for line in lines)
    assert notified(received, 'STATUS=Waiting for the database')
    assert not ready(received)
    os.symlink(socket, tmp_path / 'later.socket')
    processes.until(lambda: ready(received), 'it is ready')
    assert is_answering(stage)
    assert not daemon.lines('Traceback')
    assert not daemon.lines(DATABASE_PASSWORD)


def test_sigint_ends_the_wait_for_a_database(stage):
    """Within seconds, with status 1; the next try is a minute away."""
    daemon = stage.start(
        database__connection='mysql+pymysql://nova:x@127.0.0.1:1/nova',
        database__retry_interval=60)
    daemon.wait_for_lines('Attempt 1')
    daemon.signal(signal.SIGINT)
    assert daemon.wait(processes.SOON) == 1
    assert not daemon.lines('Traceback')


WRONG = [
    ({'filter_scheduler__enabled_filters': 'ComputeFilter,RamFliter'},
     ['[filter_scheduler] enabled_filters']),
    ({'filter_scheduler__host_subset_size': 'a few',
      'scheduler__workers': 'all',
      'DEFAULT__service_down_time': 'soon'},
     ['host_subset_size', 'workers', 'service_down_time']),
    ({'DEFAULT__transport_url': 'rabit://nova:n0t-shown@mq/'},
     ['transport_url']),
]


@pytest.mark.parametrize(('options', 'named'), WRONG)
def test_wrong_options_end_the_start_with_a_line_each(stage, options, named):
    """Exit status 2, only these lines on stderr, no passwords."""
    path = stage.config_file('wrong', **options)
    status, output, error = processes.run(
        'nova-sched', '--config-file', path)
    assert status == 2
    assert output == ''
    lines = error.splitlines()
    for name in named:
        assert [name in line for line in lines].count(True) == 1, lines
    assert len(lines) == len(named), lines
    assert all(line.startswith('nova-sched: error: ') for line in lines)
    assert 'n0t-shown' not in error


def test_no_password_and_no_token_is_logged(stage):
    """In debug mode, for a start, captured requests, errors and a stop."""
    stage.load(captures.cloud('34'))
    daemon = stage.daemon(
        database__connection=with_password(stage.database_url),
        DEFAULT__debug=True, DEFAULT__control_exchange='nova',
        DEFAULT__service_down_time=86400)
    with broker.wire(stage.transport_url) as wire:
        for era in captures.ERAS:
            for name in captures.names(era, captures.is_call):
                if 'backdoor' not in name:
                    wire.call(captures.load(name)['request'])
    daemon.stop()
    assert len(daemon.lines('Request for ')) > 40
    for secret in (DATABASE_PASSWORD, DATABASE_PASSWORD.replace('/', '%2F'),
                   TOKEN, 'secret@', "'secret'", 'nova:secret'):
        assert not daemon.lines(secret)
