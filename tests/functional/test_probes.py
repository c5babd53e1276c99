"""Deployers' health checks of a daemon called nova-scheduler."""

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
    """A daemon with two workers, before its first request."""
    stage.cloud(4, live=False)
    link = tmp_path / probes.NAME
    link.symlink_to(*processes.command_line('nova-sched'))
    file = stage.config_file(
        'nova', DEFAULT__host=HOST, scheduler__workers=2,
        DEFAULT__transport_url=doors['broker'].url,
        database__connection=doors['database'].url)
    with processes.running(str(link), ['--config-file', file],
                           tmp_path / 'log') as daemon:
        daemon.wait_for_lines('Serving requests', times=2)
        daemon.wait_for_messenger()
        yield daemon


def ours(daemon):
    """The ids of a daemon's processes."""
    return {daemon.pid, daemon.messenger, *daemon.workers}


def test_probes_pass_while_a_daemon_serves(stage, daemon, doors):
    """Before and after its first request.

    They fail without the database or the broker, and after a stop.
    """
    before = ours(daemon)
    assert before <= {process.pid for process in probes.named()}
    for _ in range(2):
        assert {door.port for door in doors.values()} <= probes.ports()
        assert probes.running(before) == before
        assert probes.is_alive(stage, HOST)
        assert stage.client().ask()

    for name in ('database', 'broker'):
        doors[name].close()
        processes.until(lambda port=doors[name].port: port not in
                        probes.ports(), f'no connection to the {name}')
    daemon.stop()
    assert not probes.running(before)
    assert not probes.is_alive(stage, HOST, seconds=2)
