"""Clouds with little room, and compute services on them."""

import threading

from oslo_utils import uuidutils

from tests.builders import clouds
from tests.builders import requests


def hosts_with_room(cloud, count, slots):
    """Load hosts h0, h1 ... with room for ``slots`` of ``a_server`` each."""
    cloud.load_nodes(*(clouds.a_compute_node(
        f'h{number}', memory_mb=1000 * slots, free_ram_mb=1000 * slots)
        for number in range(count)))


def a_server(**kwargs):
    return requests.a_request(**{'memory_mb': 1000,
                                 'instance_uuid': uuidutils.generate_uuid(),
                                 **kwargs})


class Compute:
    """Compute services that claim instances, or refuse them.

    As in Nova: the instance gets its host, the host's usage is written, and
    an instance that does not fit is refused.
    """

    def __init__(self, cloud):
        self._cloud, self._lock, self.refused = cloud, threading.Lock(), 0

    def take(self, uuid, host):
        with self._lock:
            [[free]] = self._cloud.rows(
                'SELECT free_ram_mb FROM compute_nodes WHERE host = ?', host)
            if free < 1000:
                self.refused += 1
                return
            self._cloud.execute('INSERT INTO instances (uuid, host, node, '
                                'deleted) VALUES (?, ?, ?, 0)',
                                uuid, host, host)
            self._cloud.execute(
                'UPDATE compute_nodes SET free_ram_mb = free_ram_mb - 1000, '
                'running_vms = running_vms + 1 WHERE host = ?', host)


def uuids(count):
    return [uuidutils.generate_uuid() for _ in range(count)]


def between(driver, *steps):
    """Run functions before the turns of the next request.

    steps: functions, or None, for its first turn, its second turn, ...
    """
    state, left = driver.host_manager.state, list(steps)
    deciding = state.deciding

    def later(*args):
        step = left.pop(0) if left else None
        if step is not None:
            step()
        return deciding(*args)
    state.deciding = later


def in_thread(target, *args):
    """Run a function in another thread, and wait for it."""
    thread = threading.Thread(target=target, args=args)
    thread.start()
    thread.join(10)
