"""A worker that somebody has stopped is replaced."""

import os
import signal

import pytest

from tests.functional import processes

pytestmark = pytest.mark.real

#: Seconds within which the supervisor wants a sign of life.
WATCHDOG = 5


def test_a_stopped_worker_is_replaced(stage):
    """And systemd, which is told by the parent alone, has no cause to act."""
    stage.cloud(4)
    with processes.supervisor_socket(stage.directory) as (address, received):
        daemon = stage.daemon(workers=2, environ={
            'NOTIFY_SOCKET': address,
            'WATCHDOG_USEC': str(WATCHDOG * 10 ** 6)})
        stopped, _ = daemon.workers
        os.kill(stopped, signal.SIGSTOP)
        daemon.wait_until_said(f'Worker {stopped} sent no heartbeat')
        daemon.wait_until_said('Serving requests', times=3)
        assert stopped not in daemon.workers
        told = received.count('WATCHDOG=1')
        processes.until(lambda: received.count('WATCHDOG=1') > told,
                        'the supervisor is told')
    assert len(stage.client().ask()[0]) == 3
