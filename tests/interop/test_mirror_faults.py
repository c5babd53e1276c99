"""Requests on a mirror while Placement changes or fails."""

from concurrent import futures
import contextlib
import random
import threading
import time

import pytest

from nova_sched import exception
from tests.builders import clouds
from tests.builders import requests
from tests.builders.examples import so_many
from tests.interop import dumps
from tests.interop.placement import Refused
from tests.interop.placement import a_consumer

pytestmark = pytest.mark.real

HOSTS = {f'cn{number}': clouds.a_uuid(number) for number in range(1, 9)}
NAMES = {uuid: host for host, uuid in HOSTS.items()}
VCPUS = 4
FLAVOR = {'vcpus': 1, 'memory_mb': 1, 'root_gb': 0, 'ephemeral_gb': 0,
          'swap': 0}
#: Seconds that the service waits for Placement, and if Placement hangs.
TIMEOUT, SHORT = 20, 3
#: Seconds in which another client fills and empties hosts.
CHURN = so_many(15)


@pytest.fixture
def placement(placement):
    """A Placement with eight empty hosts."""
    for host, uuid in HOSTS.items():
        add(placement, host, uuid)
    return placement


def add(placement, host, uuid):
    placement.provider(host, uuid, {'VCPU': VCPUS, 'MEMORY_MB': 10 ** 6},
                       traits=['COMPUTE_NODE', 'OWNER_NOVA'])


@pytest.fixture
def timeout():
    return TIMEOUT


@pytest.fixture
def scene(stage, placement, timeout):
    return Scene(stage, placement, timeout)


class Scene:
    """A daemon with a mirror of a Placement, and its callers."""

    def __init__(self, stage, placement, timeout):
        self._stage, self.placement = stage, placement
        self._before = len(placement.log)
        self.load(HOSTS)
        self.daemon = stage.daemon(
            nova_sched__candidates='mirror', placement__timeout=timeout,
            DEFAULT__service_down_time=10 ** 9,
            **placement.settings)
        self.daemon.wait_for_lines('were copied from Placement')
        self._client = stage.client()
        self.placed, self.refused = {}, []
        self._lock = threading.Lock()

    def load(self, hosts, **values):
        """Replace the hosts, host -> uuid; values: of the last node's row."""
        *nodes, last = hosts
        self._stage.load(clouds.a_cloud([*hosts], compute_nodes=[
            *(clouds.a_compute_node(host, uuid=hosts[host])
              for host in nodes),
            clouds.a_compute_node(last, uuid=hosts[last], **values)]))

    def ask(self, uuid=None, **request):
        """Call for an instance; return its host, None for a refusal."""
        uuid = uuid or a_consumer()
        spec = requests.a_request(
            instance_uuid=uuid, flavor=requests.a_flavor(**FLAVOR), **request)
        try:
            [[selected, *_]] = self._client.place(spec)
        except (exception.NoValidHost, exception.PlacementUnavailable):
            with self._lock:
                self.refused.append(uuid)
            return None
        with self._lock:
            self.placed[uuid] = selected.service_host
        return selected.service_host

    def fill(self):
        """Call until a refusal; return the number of placed instances."""
        count = 0
        while self.ask():
            count += 1
        return count

    def delete(self, uuid):
        """Delete an instance's allocations, as a compute service does."""
        self.placement.ask('DELETE', f'/allocations/{uuid}')
        with self._lock:
            del self.placed[uuid]

    def listings(self):
        """The number of listings for requests; those of the mirror have no
        limit.
        """
        return sum('GET /allocation_candidates' in line and 'limit=' in line
                   for line in self.placement.log[
                       self._before:].splitlines())

    def check(self, others=()):
        """Check that exactly the placed instances have allocations.

        others: consumers of another client.
        """
        held = {}
        for uuid in self.placement.providers().values():
            assert self.placement.usages(uuid)['VCPU'] <= VCPUS
            for consumer in self.placement.consumers(uuid):
                assert consumer not in held
                held[consumer] = NAMES.get(uuid, uuid)
        for consumer in others:
            held.pop(consumer, None)
        assert held == self.placed


def test_request_costs_one_claim_and_no_listing(scene):
    assert all(scene.ask() for _ in range(10))

    assert scene.listings() == 0
    scene.check()
    scene.fill()
    # One listing of candidates, and one for the amounts only.
    assert scene.listings() == 2


def test_new_host_is_used_at_once(scene):
    """It may be the only host of a new cell."""
    assert scene.ask()
    new = {'cn9': clouds.a_uuid(9)}
    add(scene.placement, *next(iter(new.items())))

    scene.load(HOSTS | new, free_ram_mb=10 ** 6)

    assert scene.ask() == 'cn9'
    assert scene.listings() == 0


def test_no_request_is_refused_while_another_client_changes_hosts(scene):
    """The last two hosts, which it does not change, have room for all."""
    others, stop = {}, threading.Event()

    def churn():
        chance = random.Random(3)
        while not stop.is_set():
            if others and chance.random() < 0.5:
                scene.placement.allocate(
                    others.popitem()[0], {})
            else:
                consumer = a_consumer()
                with contextlib.suppress(Refused):
                    others[consumer] = None
                    scene.placement.allocate(consumer, {
                        HOSTS[f'cn{chance.randrange(1, 7)}']: {
                            'VCPU': chance.choice((1, 4))}})

    def call():
        while not stop.is_set():
            uuid = a_consumer()
            if scene.ask(uuid):
                scene.delete(uuid)

    with futures.ThreadPoolExecutor(4) as pool:
        under_way = [pool.submit(work) for work in (churn, call, call, call)]
        time.sleep(CHURN)
        stop.set()
    for work in under_way:
        work.result()

    assert scene.refused == []
    scene.check(others)


def test_freed_room_is_found_before_a_refusal(scene):
    scene.fill()
    uuid = next(iter(scene.placed))
    host = scene.placed[uuid]

    scene.delete(uuid)

    assert scene.ask() == host
    assert len(scene.refused) == 1
    scene.check()


def test_requests_are_served_after_a_restart_of_placement(scene):
    assert scene.ask()
    scene.placement.stop()
    assert scene.ask() is None

    scene.placement.start()

    assert scene.ask()
    assert scene.fill() == VCPUS * len(HOSTS) - 2
    scene.check()


@pytest.mark.parametrize('timeout', [SHORT])
def test_claim_in_a_hanging_placement_is_released(scene):
    assert scene.ask()
    scene.placement.hang()
    assert scene.ask() is None

    scene.placement.resume()

    scene.daemon.wait_for_lines('remaining claims are released:')
    assert scene.fill() == VCPUS * len(HOSTS) - 1
    scene.check()


def test_copy_follows_a_restore_of_placement_from_an_older_dump(scene):
    """Generations fall, and rise to the same values again."""
    for _ in range(3):
        assert scene.ask()
    dumped = dumps.dump(scene.placement.database_url)
    before = dict(scene.placed)
    for _ in range(5):
        assert scene.ask()
    scene.placement.stop()
    dumps.restore(scene.placement.database_url, dumped)
    scene.placement.start()
    scene.placed = before

    assert scene.fill() == VCPUS * len(HOSTS) - 3
    scene.check()


def test_copy_follows_hosts_recreated_under_their_names(scene):
    assert scene.ask()
    for uuid in list(scene.placed):
        scene.delete(uuid)
    for uuid in HOSTS.values():
        scene.placement.ask('DELETE', f'/resource_providers/{uuid}')
    recreated = {host: clouds.a_uuid() for host in HOSTS}
    for host, uuid in recreated.items():
        add(scene.placement, host, uuid)
    scene.load(recreated)

    assert scene.fill() == VCPUS * len(HOSTS)
    assert sorted(set(scene.placed.values())) == sorted(HOSTS)
