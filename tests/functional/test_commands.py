"""nova-sched-manage on a real broker and database, as operators type it."""

import contextlib
import functools
import json

import pytest

from tests.functional import conftest
from tests.functional import processes

pytestmark = pytest.mark.real


PROGRAM = 'nova-sched-manage'


def manage(*words):
    """Run a command; returns (exit status, stdout, stderr)."""
    return processes.run(PROGRAM, *words)


def on(stage):
    """A function that runs one command on a stage; returns its output."""
    return functools.partial(processes.manage, '--config-file',
                             stage.config_file())


@contextlib.contextmanager
def fake_cloud(stage):
    """"cloud fake" for 20 hosts for the time of a block; its Program."""
    arguments = ['--config-file', stage.config_file(), 'cloud', 'fake',
                 '--hosts', '20', '--interval', '1']
    with processes.running(PROGRAM, arguments,
                           stage.directory / 'cloud.log') as program:
        program.wait_for_lines('20 fake compute nodes in ')
        yield program


@pytest.fixture(scope='module')
def season(tmp_path_factory):
    """A Stage on which the fake hosts report."""
    with (conftest.open_stage(tmp_path_factory.mktemp('cloud')) as stage,
          fake_cloud(stage)):
        yield stage


@pytest.fixture
def cloud(season):
    """The same Stage, without daemons of other tests."""
    with season.scene():
        yield season


def test_request_call_prints_the_answer_as_json(cloud):
    cloud.daemon(workers=2)
    run = on(cloud)
    rows = json.loads(run('request', 'call', '--count', '2', '--vcpus', '2',
                          '-f', 'json'))
    assert [len(row['Alternates']) for row in rows] == [2, 2]
    assert len({row['Instance'] for row in rows}) == 2
    known = {row['Host'] for row in json.loads(run('host', 'list', '-f',
                                                   'json'))}
    assert {row['Host'] for row in rows} <= known


@pytest.mark.parametrize(('broker', 'words'), [
    ('a real one', ' has no consumer at '),
    ('none', '127.0.0.1:1, virtual host /: ')])
def test_request_call_gives_up_without_an_answer(stage, broker, words):
    """With a broker and no scheduler, and without a broker."""
    url = (stage.transport_url if broker == 'a real one'
           else 'rabbit://user:secret@127.0.0.1:1/')
    status, output, error = manage(
        '--config-file', stage.config_file(), '--transport-url', url,
        'request', 'call', '--timeout', '2')
    assert (status, output) == (3, '')
    assert words in error
    assert 'secret' not in error
    assert 'Traceback' not in error


def test_booted_instance_shows_up_on_its_host(cloud):
    """The fake compute node claims the instance and reports it."""
    cloud.daemon()
    run = on(cloud)
    row, = json.loads(run('request', 'call', '--ram', '8192', '--boot',
                          '--no-alternates', '-f', 'json'))

    def instances():
        facts = json.loads(run('host', 'show', row['Host'], '-f', 'json'))
        return facts['num_instances']
    assert processes.until(instances, 'the host reports it') == 1


def test_ping_reports_consumers_and_answers(cloud):
    daemon = cloud.daemon(workers=2)
    ping = ['--config-file', cloud.config_file(), 'ping', '--timeout']
    served = processes.until(
        lambda: '2 consumer(s)' in (
            found := manage(*ping, str(processes.PATIENCE)))[1] and found,
        'both workers consume')
    daemon.stop()
    silent = manage(*ping, '2')
    broken = manage(*ping[:2], '--transport-url', 'rabbit://127.0.0.1:1/',
                    'ping')

    assert served[0] == 0
    assert '2 consumer(s) of the queue ' in served[1]
    assert 'A scheduler responded in ' in served[1]
    assert silent[0] == 1
    assert '0 consumer(s) of the queue ' in silent[1]
    assert broken[0] == 3
    assert '127.0.0.1:1' in broken[2]
