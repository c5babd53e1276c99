"""Requests on a copy of a Placement that others change, and that fails."""

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
#: Seconds that the service waits for Placement, and where that is made to
#: hang.
TIMEOUT, SHORT = 20, 3
#: Seconds that somebody else goes on filling and emptying hosts.
CHURN = so_many(15)


@pytest.fixture
def placement(placement):
    """It has eight empty hosts and nothing else."""
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
    """A daemon with a copy of a Placement, and its callers."""

    def __init__(self, stage, placement, timeout):
        self._stage, self.placement = stage, placement
        self._before = len(placement.log)
        self.load(HOSTS)
        self.daemon = stage.daemon(
            nova_sched__candidates='mirror', placement__timeout=timeout,
            DEFAULT__service_down_time=10 ** 9,
            **{f'placement__{name}': value
               for name, value in placement.options.items()})
        self.daemon.wait_for_lines('were copied from Placement')
        self._client = stage.client()
        self.placed, self.refused = {}, []
        self._lock = threading.Lock()

    def load(self, hosts, **values):
        """Have these hosts, host -> uuid; values: of the last one's node."""
        *nodes, last = hosts
        self._stage.load(clouds.a_cloud([*hosts], compute_nodes=[
            *(clouds.a_compute_node(host, uuid=hosts[host])
              for host in nodes),
            clouds.a_compute_node(last, uuid=hosts[last], **values)]))

    def ask(self, uuid=None, **request):
        """Ask for an instance; its host, or None if it is refused."""
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
        """Ask until there is no more room; how many were placed."""
        count = 0
        while self.ask():
            count += 1
        return count

    def delete(self, uuid):
        """End an instance, as a compute service does."""
        self.placement.ask('DELETE', f'/allocations/{uuid}')
        with self._lock:
            del self.placed[uuid]

    def listings(self):
        """How many requests were listed; the upkeep of the copy has no limit.
        """
        return sum('GET /allocation_candidates' in line and 'limit=' in line
                   for line in self.placement.log[
                       self._before:].splitlines())

    def check(self, others=()):
        """All that was placed holds its host, and nothing else is held.

        others: consumers that somebody else made.
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


def test_a_request_costs_a_claim(scene):
    assert all(scene.ask() for _ in range(10))

    assert scene.listings() == 0
    scene.check()
    scene.fill()
    # One of candidates, and one that is for the amounts alone.
    assert scene.listings() == 2


def test_a_host_that_has_just_started_is_used_at_once(scene):
    """Another cell may have no other one."""
    assert scene.ask()
    new = {'cn9': clouds.a_uuid(9)}
    add(scene.placement, *next(iter(new.items())))

    scene.load(HOSTS | new, free_ram_mb=10 ** 6)

    assert scene.ask() == 'cn9'
    assert scene.listings() == 0


def test_somebody_else_fills_and_empties_hosts(scene):
    """There is room on the last two hosts for all: none is refused."""
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


def test_room_that_somebody_else_frees_is_found_before_a_refusal(scene):
    scene.fill()
    uuid = next(iter(scene.placed))
    host = scene.placed[uuid]

    scene.delete(uuid)

    assert scene.ask() == host
    assert len(scene.refused) == 1
    scene.check()


def test_placement_is_killed(scene):
    assert scene.ask()
    scene.placement.stop()
    assert scene.ask() is None

    scene.placement.start()

    assert scene.ask()
    assert scene.fill() == VCPUS * len(HOSTS) - 2
    scene.check()


@pytest.mark.parametrize('timeout', [SHORT])
def test_placement_hangs(scene):
    assert scene.ask()
    scene.placement.hang()
    assert scene.ask() is None

    scene.placement.resume()

    scene.daemon.wait_for_lines('given back are:')
    assert scene.fill() == VCPUS * len(HOSTS) - 1
    scene.check()


def test_placement_is_restored_from_an_older_dump(scene):
    """Generations fall, and rise again to what they were."""
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


def test_hosts_are_deleted_and_made_anew_under_their_names(scene):
    assert scene.ask()
    for uuid in list(scene.placed):
        scene.delete(uuid)
    for uuid in HOSTS.values():
        scene.placement.ask('DELETE', f'/resource_providers/{uuid}')
    anew = {host: clouds.a_uuid() for host in HOSTS}
    for host, uuid in anew.items():
        add(scene.placement, host, uuid)
    scene.load(anew)

    assert scene.fill() == VCPUS * len(HOSTS)
    assert sorted(set(scene.placed.values())) == sorted(HOSTS)
