"""A stopped worker is replaced."""

import os
import signal

import pytest

from tests.functional import processes

pytestmark = pytest.mark.real

#: Seconds of systemd's watchdog.
WATCHDOG = 5


def test_stopped_worker_is_replaced(stage):
    """The master goes on notifying systemd."""
    stage.cloud(4)
    with processes.supervisor_socket(stage.directory) as (address, received):
        daemon = stage.daemon(workers=2, environ={
            'NOTIFY_SOCKET': address,
            'WATCHDOG_USEC': str(WATCHDOG * 10 ** 6)})
        stopped, _ = daemon.workers
        os.kill(stopped, signal.SIGSTOP)
        daemon.wait_for_lines(f'Worker {stopped} sent no heartbeat')
        daemon.wait_for_lines('Serving requests', times=3)
        assert stopped not in daemon.workers
        before = received.count('WATCHDOG=1')
        processes.until(lambda: received.count('WATCHDOG=1') > before,
                        'a notification')
    assert len(stage.client().ask()[0]) == 3
