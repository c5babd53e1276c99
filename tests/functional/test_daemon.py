"""nova-sched: its processes, signals and notifications to systemd."""

import os
import signal

import pytest

from nova_sched import exception
from tests.functional import processes
from tests.functional import stage as stages

pytestmark = pytest.mark.real

CALLS = 40

# Keeps calls under way until a test interferes.
SLOW_FILTER = """
import time

from nova_sched.scheduler import filters


class SlowFilter(filters.BaseHostFilter):
    def filter_all(self, hosts, spec_obj):
        time.sleep(0.2)
        return hosts
"""


def served(*daemons):
    """The number of calls that daemons have answered with hosts."""
    return sum(len(daemon.lines(' placed: ')) for daemon in daemons)


def results(futures):
    """Numbers of hosts that calls got; fails if a call got no answer."""
    return {len(future.result(processes.PATIENCE)[0]) for future in futures}


@pytest.fixture
def slow(tmp_path):
    """Arguments of Stage.start for a slow service."""
    (tmp_path / 'slow_filter.py').write_text(SLOW_FILTER)
    return {
        'environ': {'PYTHONPATH': str(tmp_path)},
        'DEFAULT__executor_thread_pool_size': 8,
        'filter_scheduler__available_filters': [
            'nova_sched.scheduler.filters.all_filters',
            'slow_filter.SlowFilter'],
        'filter_scheduler__enabled_filters': 'ComputeFilter,SlowFilter'}


def test_service_is_ready_once_it_can_answer(stage):
    """The first call after READY=1 is answered; SIGTERM is STOPPING=1."""
    stage.cloud(4)
    caller = stage.client(DEFAULT__rpc_response_timeout=processes.SOON)
    with processes.supervisor_socket(stage.directory) as (address, received):
        daemon = stage.start(scheduler__workers=2,
                             environ={'NOTIFY_SOCKET': address})
        processes.until(
            lambda: any('READY=1' in text for text in received), 'ready')
        assert len(caller.ask()[0]) == 3
        daemon.wait_for_messenger()
        assert len(daemon.workers) == 2
        status, seconds = daemon.stop()
        assert any('STOPPING=1' in text for text in received)
    assert status == 0
    assert seconds < processes.SOON
    assert not daemon.lines('Traceback')


def test_sigterm_loses_no_call_beside_another_daemon(stage, slow):
    """The stopped daemon answers its calls, the other daemon all others."""
    stage.cloud(4)
    going = stage.daemon(workers=2, name='going', DEFAULT__host='going',
                         **slow)
    staying = stage.daemon(workers=1, name='staying',
                           DEFAULT__host='staying', **slow)
    futures = stage.client().crowd(CALLS, callers=CALLS)
    processes.until(lambda: served(going) > 4, 'calls are under way')
    status, seconds = going.stop()
    assert results(futures) == {3}
    assert status == 0
    assert seconds < processes.SOON
    staying.wait_for_lines(' placed: ', times=CALLS - served(going))
    assert served(going, staying) == CALLS
    assert served(staying) > 10
    assert not going.lines('Traceback')


def test_sigterm_loses_no_call_before_a_successor(stage, slow):
    """Calls wait at the broker while no scheduler runs."""
    stage.cloud(4)
    # Otherwise the first daemon prefetches all calls within milliseconds.
    slow['oslo_messaging_rabbit__rabbit_qos_prefetch_count'] = 4
    first = stage.daemon(workers=2, name='first', **slow)
    futures = stage.client().crowd(CALLS, callers=CALLS)
    processes.until(lambda: served(first) > 4, 'calls are under way')
    status, seconds = first.stop()
    by_first = served(first)
    assert status == 0
    assert seconds < processes.SOON
    assert by_first < CALLS
    second = stage.daemon(workers=2, name='second', **slow)
    assert results(futures) == {3}
    second.wait_for_lines(' placed: ', times=CALLS - by_first)
    assert by_first + served(second) == CALLS


def test_killed_worker_is_replaced_while_the_other_serves(stage):
    """Each call after the kill is answered."""
    stage.cloud(4)
    daemon = stage.daemon(workers=2)
    caller = stage.client()
    killed, left = daemon.workers
    os.kill(killed, signal.SIGKILL)
    assert all(caller.ask() for _ in range(20))
    daemon.wait_for_lines('Serving requests', times=3)
    assert len(daemon.workers) == 2
    assert left in daemon.workers
    assert killed not in daemon.workers
    assert results(caller.crowd(40, callers=8)) == {3}


def test_sighup_applies_changed_options_and_loses_no_call(stage):
    """The processes stay the same."""
    stage.cloud(4, alike=True)
    with processes.supervisor_socket(stage.directory) as (address, received):
        daemon = stage.daemon(
            workers=2, environ={'NOTIFY_SOCKET': address},
            filter_scheduler__enabled_filters='ComputeFilter')
        workers = daemon.workers
        caller = stage.client()
        assert caller.ask(memory_mb=50000)
        futures = caller.crowd(60, callers=8)
        stage.config_file(
            scheduler__workers=2, scheduler__max_attempts=2,
            filter_scheduler__enabled_filters='ComputeFilter,RamFilter')
        daemon.signal(signal.SIGHUP)
        daemon.wait_for_lines('Configuration read again', times=2)
        processes.until(lambda: 'READY=1' in received[-1], 'ready again')
        assert any('RELOADING=1' in text for text in received)
    assert results(futures) <= {2, 3}
    for _ in range(6):
        with pytest.raises(exception.NoValidHost, match='4 RamFilter'):
            caller.ask(memory_mb=50000)
    assert results(caller.crowd(20, callers=4)) == {2}
    assert daemon.workers == workers


def test_picks_still_count_after_a_reload_changes_the_driver(stage):
    stage.cloud(4, alike=True)
    daemon = stage.daemon()
    caller = stage.client()
    sizes = {'memory_mb': 15000}
    for times, driver in enumerate((stages.CACHING, stages.FILTER), 1):
        stage.config_file(scheduler__driver=driver)
        daemon.signal(signal.SIGHUP)
        daemon.wait_for_lines('Configuration read again', times=times)
        assert len({caller.pick(**sizes) for _ in range(4)}) == 4
    with pytest.raises(exception.NoValidHost):
        caller.pick(**sizes)
    assert not daemon.lines('Traceback')


@pytest.mark.parametrize(('words', 'ready'), [
    ([], 'Serving requests'), (['--no-fork'], 'Serving requests'),
    (['--shadow'], 'Starting as a shadow')])
def test_sigusr1_ends_nothing(stage, words, ready):
    stage.cloud(4)
    with processes.running(
            'nova-sched', [*words, '--config-file', stage.config_file(
                nova_sched__shadow_report=stage.directory / 'report')],
            stage.directory / 'nova-sched.log') as daemon:
        daemon.wait_for_lines(ready)
        if not words:
            daemon.wait_for_messenger()
        workers = daemon.workers
        for pid in (daemon.pid, *workers):
            os.kill(pid, signal.SIGUSR1)
        daemon.signal(signal.SIGUSR2)
        daemon.wait_for_lines('Guru Meditation')
        assert daemon.running
        assert daemon.workers == workers


def test_no_worker_outlives_its_killed_parent(stage):
    """An orphan would go on serving unsupervised."""
    stage.cloud(4)
    daemon = stage.daemon(workers=2)
    workers = daemon.workers
    daemon.signal(signal.SIGKILL)
    daemon.wait()
    processes.until(
        lambda: not any(os.path.exists(f'/proc/{pid}') for pid in workers),
        'the workers are gone')


@pytest.mark.parametrize(('text', 'words'), [
    (b'[filter_scheduler]\nenabled_filters = ComputeFilter,RamFliter\n',
     ('enabled_filters', 'RamFliter')),
    (b'\x7fELF\xff\xfe', ('nova-sched.conf',))], ids=['filter', 'binary'])
def test_reload_refuses_a_wrong_configuration(stage, text, words):
    """One line has the reason; the old configuration stays in effect.

    A worker that is started later uses the old configuration, too.
    """
    stage.cloud(4)
    daemon = stage.daemon(workers=1)
    (stage.directory / 'nova-sched.conf').write_bytes(text)
    daemon.signal(signal.SIGHUP)
    line, = daemon.wait_for_lines('Not reloading')
    assert 'ERROR' in line
    assert all(word in line for word in words)
    killed, = daemon.workers
    os.kill(killed, signal.SIGKILL)
    daemon.wait_for_lines('Serving requests', times=2)
    assert results(stage.client().crowd(10)) == {3}
    assert not daemon.lines('Traceback')
