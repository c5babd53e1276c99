"""Deployers' health checks, asked of a daemon called nova-scheduler."""

import pytest

from tests.functional import probes
from tests.functional import processes

pytestmark = pytest.mark.real

HOST = 'probed'


@pytest.fixture
def doors(stage):
    with probes.doors(stage) as doors:
        yield doors


@pytest.fixture
def daemon(stage, doors, tmp_path):
    """One with two workers, which nobody has asked anything yet."""
    stage.cloud(4, live=False)
    link = tmp_path / probes.NAME
    link.symlink_to(*processes.command_line('nova-sched'))
    file = stage.config_file(
        'nova', DEFAULT__host=HOST, scheduler__workers=2,
        DEFAULT__transport_url=stage.url_through(doors['broker']),
        database__connection=doors['database'].url)
    with processes.running(str(link), ['--config-file', file],
                           tmp_path / 'log') as daemon:
        daemon.wait_for_lines('Serving requests', times=2)
        daemon.wait_for_messenger()
        yield daemon


def ours(daemon):
    """The ids of its processes."""
    return {daemon.pid, daemon.messenger, *daemon.workers}


def test_one_that_serves_passes_all(stage, daemon, doors):
    """Before the first request, and after one."""
    for _ in range(2):
        assert {door.port for door in doors.values()} <= probes.ports()
        assert probes.running(ours(daemon)) == ours(daemon)
        assert probes.is_alive(stage, HOST)
        assert stage.client().ask()


def test_one_that_is_stopped_passes_none(stage, daemon, doors):
    before = ours(daemon)
    daemon.stop()

    assert not probes.ports() & {door.port for door in doors.values()}
    assert not probes.running(before)
    assert not probes.is_alive(stage, HOST, seconds=2)


@pytest.mark.parametrize('name', ['broker', 'database'])
def test_one_without_a_server_is_seen_to_be(daemon, doors, name):
    doors[name].close()

    processes.until(lambda: doors[name].port not in probes.ports(), 'its end')


def test_each_of_its_processes_has_the_name(daemon):
    assert ours(daemon) <= {process.pid for process in probes.named()}
