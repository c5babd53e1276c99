"""The mirror of a real Placement compared with Placement's listings."""

import contextlib
import os
import random
import uuid

import pytest

from nova_sched.placement.adapter import PlacementAdapter
from nova_sched.placement.mirror.mirror import PlacementMirror
from nova_sched.scheduler.utils import Group
from nova_sched.scheduler.utils import ResourceRequest
from tests.builders import http_placement
from tests.functional.processes import until
from tests.interop.placement import Refused
from tests.interop.placement import a_consumer
from tests.interop.placement import open_placement

#: Number of compared requests.
REQUESTS = int(os.environ.get('NOVA_SCHED_TEST_MIRRORED_REQUESTS', 150))
HOSTS = 120
TRAITS = ('HW_CPU_X86_AVX2', 'HW_CPU_X86_SGX', 'COMPUTE_NODE',
          'COMPUTE_STATUS_DISABLED', 'CUSTOM_GOLD', 'CUSTOM_SILVER')
#: With a trait that no host has.
ASKED_TRAITS = (*TRAITS, 'HW_CPU_X86_AVX512F')
#: An allocation ratio too large for columns of integers.
UNBOUNDED = 1e38
AGGREGATES = [str(uuid.UUID(int=number)) for number in range(1, 7)]


@pytest.fixture(scope='module')
def placement(tmp_path_factory):
    """A Placement with full, empty and odd providers."""
    chance = random.Random(5)
    with open_placement(tmp_path_factory.mktemp('placement')) as placement:
        for number in range(HOSTS):
            make_host(placement, number, chance)
        yield placement


def make_host(placement, number, chance):
    total = chance.choice((2, 8, 16))
    inventories = {
        'VCPU': {'total': total, 'allocation_ratio': chance.choice(
            (1.0, 1.5, 4.0, UNBOUNDED)),
            'max_unit': chance.choice((1, 4, total))},
        'MEMORY_MB': {
            'total': 4096, 'reserved': chance.choice((0, 512, 96)),
            'step_size': chance.choice((1, 1, 512)),
            'min_unit': chance.choice((1, 1, 512))}}
    if chance.random() < 0.7:
        inventories['DISK_GB'] = {'total': 20}
    if chance.random() < 0.3:
        inventories['CUSTOM_IRON'] = {'total': 1}
    provider = placement.provider(
        f'host-{number}', str(uuid.UUID(int=1000 + number)), inventories,
        [trait for trait in TRAITS if chance.random() < 0.3],
        [aggregate for aggregate in AGGREGATES[:5] if chance.random() < 0.3])
    for _ in range(chance.choice((0, 0, 1, 3))):
        with contextlib.suppress(AssertionError):
            placement.allocate(a_consumer(), {provider: {
                'VCPU': 1, 'MEMORY_MB': chance.choice((512, 1024, 3584))}},
                is_new=True)


@pytest.fixture
def mirror(placement, tmp_path):
    """A complete PlacementMirror."""
    with mirrored(placement, tmp_path) as mirror:
        until(lambda: mirror.age is not None
              and not mirror.providers.without_limits(),
              'a complete mirror of Placement')
        yield mirror


@contextlib.contextmanager
def mirrored(placement, tmp_path, freed=tuple):
    conf = http_placement.a_conf(tmp_path, **placement.options)
    mirror = PlacementMirror(PlacementAdapter(conf), freed)
    mirror.start()
    try:
        yield mirror
    finally:
        mirror.stop()


@pytest.fixture(autouse=True)
def in_a_hurry(monkeypatch):
    """Read single providers without a pause."""
    monkeypatch.setattr('nova_sched.placement.mirror.upkeep.SINGLE', 10000)


def a_request(chance):
    """A random query with one group."""
    resources = {'VCPU': chance.choice((1, 2, 4, 5)), 'MEMORY_MB':
                 chance.choice((512, 700, 1024, 3500))}
    if chance.random() < 0.5:
        resources['DISK_GB'] = chance.choice((1, 20, 21))
    if chance.random() < 0.1:
        resources = {'CUSTOM_IRON': 1}

    def some(names, share):
        return {name for name in names if chance.random() < share}

    required = some(ASKED_TRAITS, 0.08)
    if chance.random() < 0.1:
        required.add('in:' + ','.join(sorted(chance.sample(ASKED_TRAITS, 2))))
    group = Group(
        resources=resources, required=required,
        forbidden=some(ASKED_TRAITS, 0.1) - required,
        member_of=[sorted(chance.sample(AGGREGATES, chance.choice((1, 2))))
                   for _ in range(chance.choice((0, 0, 0, 1, 1, 2)))],
        forbidden_aggregates=some(AGGREGATES, 0.08),
        in_tree=str(uuid.UUID(int=1000 + chance.randrange(HOSTS)))
        if chance.random() < 0.05 else None)
    return ResourceRequest(
        {'': group}, root_required=some(('COMPUTE_NODE',), 0.2),
        root_forbidden=some(('COMPUTE_STATUS_DISABLED',), 0.8))


def listed(placement, query):
    """Placement's listing: uuid -> allocation request.

    Empty if Placement refuses contradicting traits.
    """
    try:
        found = placement.ask('GET', '/allocation_candidates?'
                              + query.query('1.39'), version='1.39')
    except Refused as refusal:
        assert 'onflicting required and forbidden traits' in str(refusal)
        return {}
    by_provider = {}
    for request in found['allocation_requests']:
        [uuid] = request['allocations']
        assert by_provider.setdefault(uuid, request) is request
    return by_provider


def test_mirror_has_the_candidates_that_placement_lists(placement, mirror):
    chance = random.Random(7)
    empty = 0
    for number in range(REQUESTS):
        query = a_request(chance)

        found = mirror.candidates([query])

        wanted = listed(placement, query)
        if found is None:
            assert wanted == {}, (number, query)
            empty += 1
        else:
            assert {uuid: request for uuid, [request] in found.items()
                    } == wanted, (number, query)
    assert empty < REQUESTS / 2
