"""Log lines with words of users, and reports by signal."""

import contextlib
import os
import re
import signal

import oslo_messaging as messaging
import pytest
import sqlalchemy as sa

from nova_sched import exception
from tests.builders import requests
from tests.functional import conftest
from tests.functional import processes

pytestmark = pytest.mark.real

FORGED = '2026-01-01 00:00:00.000 1 CRITICAL forged [-] all is lost'

#: The begin of each log line.
LINE = re.compile(r'\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} \d+ [A-Z]+ ')


#: Requests with a user's words in each possible place.
REQUESTS = {
    'zone': lambda words: {'availability_zone': words},
    'forced host': lambda words: {'force_hosts': [words]},
    'destination': lambda words: {
        'requested_destination': requests.a_destination(host=words)},
    'extra spec': lambda words: {'extra_specs': {
        'capabilities:free_ram_mb': words}},
    'hint': lambda words: {'hints': {'query': [f'["{words}", "$host", 1]']}},
    'request id': lambda words: {'request_id': words}}


@pytest.fixture(scope='module')
def stage(tmp_path_factory):
    """A Stage for all tests here."""
    with conftest.open_stage(tmp_path_factory.mktemp('logs')) as made:
        made.cloud(4)
        yield made


@pytest.fixture(scope='module')
def daemon(stage):
    """A daemon with its log and reports in files, started without a umask."""
    before = os.umask(0)
    try:
        return stage.daemon(
            DEFAULT__debug=True,
            DEFAULT__log_file=stage.directory / 'all.log',
            DEFAULT__use_stderr=True,
            DEFAULT__executor_thread_pool_size=16,
            filter_scheduler__enabled_filters=(
                'ComputeFilter,AvailabilityZoneFilter,'
                'ComputeCapabilitiesFilter,JsonFilter,RamFilter'),
            filter_scheduler__available_filters=(
                'nova.scheduler.filters.all_filters'),
            oslo_reports__log_dir=stage.directory)
    finally:
        os.umask(before)


@pytest.fixture(scope='module')
def caller(stage, daemon):
    return stage.client()


@pytest.fixture
def new_text(daemon):
    """Function that returns the log's text since the test began."""
    begin = len(daemon.text)
    return lambda: daemon.text[begin:]


def ask(caller, **request):
    """Call, and ignore a refusal."""
    with contextlib.suppress(exception.NovaSchedException,
                             messaging.RemoteError):
        caller.ask(**request)


def assert_lines(text):
    """Check that each line begins as a log line, and is printable."""
    lines = text.split('\n')[:-1]
    assert lines
    assert all(LINE.match(line) for line in lines), lines
    assert not any(line.startswith(FORGED[:20]) for line in lines), lines
    assert not [each for each in text if not each.isprintable()
                and each != '\n']


@pytest.mark.parametrize('odd', ['\n', '\x1b[2J', '\u2028', '\ud800'])
@pytest.mark.parametrize('place', REQUESTS)
def test_words_of_a_request_forge_no_line(caller, new_text, place, odd):
    """A character that cannot be encoded does not lose the line."""
    ask(caller, **REQUESTS[place](f'x{odd}{FORGED}'))
    processes.until(lambda: 'Request for ' in new_text(), 'a line about it')
    assert_lines(new_text())


@pytest.mark.parametrize('odd', ['\n', '\ud800'])
def test_name_of_a_method_forges_no_line(stage, daemon, new_text, odd):
    """oslo.messaging logs this line, not the service."""
    client = messaging.get_rpc_client(
        stage.transport(), messaging.Target(topic='scheduler', version='4.0'))
    with pytest.raises(messaging.RemoteError):
        client.call({}, f'method{odd}{FORGED}')
    processes.until(lambda: 'all is lost' in new_text(), 'a line about it')
    assert_lines(new_text())


def test_sigusr2_writes_a_report(stage, daemon, caller):
    """Of the master and of a worker; both go on."""
    worker, = daemon.workers
    for pid in (daemon.pid, worker):
        os.kill(pid, signal.SIGUSR2)
        path, = processes.until(lambda pid=pid: list(stage.directory.glob(
            f'nova-sched-{pid}_gurumeditation_*')), 'a report')
        text = processes.until(
            lambda path=path: 'shadow_report' in path.read_text()
            and path.read_text(), 'all of it')
        assert 'product = nova_sched' in text
        assert 'Thread #' in text
        assert 'transport_url = ****' in text
        assert f':{sa.make_url(stage.transport_url).password}@' not in text
        assert not path.stat().st_mode & 0o007
    assert caller.ask()
    assert daemon.workers == [worker]
