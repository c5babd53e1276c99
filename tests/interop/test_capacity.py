"""Capacity equals the number of instances that a real nova-scheduler places.

Its claims are made in the real Placement, until it refuses.
"""

import json
import uuid

import pytest

from nova_sched.cmd.manage import specs
from tests.builders import requests
from tests.builders import rules
from tests.functional import processes
from tests.interop import generate
from tests.interop import rig as rigs
from tests.interop import rig_providers
from tests.interop import rig_world

pytestmark = pytest.mark.real

FLAVORS = {'plain': '6G,5,20G', 'ssd': '4G,3,30G,trait:CUSTOM_SSD=required',
           'pinned': '2G,3,60G,hw:cpu_policy=dedicated',
           'gpu': '512,1,1G,resources:VGPU=1',
           'small gpu': '512,1,1G,resources:VGPU=1,'
                        'trait:CUSTOM_GPU_SMALL=required',
           'cards': f'512,1,1G,resources1:{rig_world.CARD}=1,'
                    f'resources2:{rig_world.CARD}=1,'
                    f'resources3:{rig_world.PART}=2,'
                    'trait3:CUSTOM_FIRMWARE_7=required,group_policy=none'}
#: A flavor whose claims depend on their order.
ISOLATED = (f'512,1,1G,resources1:{rig_world.CARD}=1,'
            f'resources2:{rig_world.CARD}=1,group_policy=isolate')


@pytest.fixture(scope='module')
def rig(tmp_path_factory):
    with rigs.Rig(tmp_path_factory.mktemp('rig'), ['nova'],
                  'room') as made:
        yield made


def capacity(scheduler, flavors):
    """The capacity by a scheduler's configuration: name -> row."""
    document = json.loads(processes.manage(
        '--config-file', str(scheduler.config_file), 'capacity', 'show',
        '-f', 'json', *(
            f'--flavor={name}={text}' for name, text in flavors.items())))
    return {row['flavor']: row for row in document['capacity']}


class Pins:
    """The pinned CPUs of hosts with two NUMA cells, as computes pin them."""

    def __init__(self, rig):
        self._rig, self._counts = rig, {}

    def boot(self, selections, cpus):
        """Pin the CPUs of an instance on the first cell with room for it."""
        host = self._rig.world.host(
            selections[0][0]['nova_object.data']['service_host'])
        counts = self._counts.setdefault(host.name, [0, 0])
        counts[counts[0] + cpus > host.pcpus // 2] += cpus
        self._rig.databases.pin(host, counts)


def placed(rig, scheduler, flavor, pins=None):
    """The number of instances that nova-scheduler places, one by one.

    pins: Pins, if computes report the pinned CPUs.
    """
    uuids = []
    made = specs.of_flavor(specs.flavor_of(f'any={flavor}'), rules.a_conf())
    spec_obj = requests.a_request(
        flavor=made.flavor, numa_topology=made.numa_topology)
    try:
        while True:
            uuids.append(str(uuid.uuid4()))
            spec_obj.instance_uuid = uuids[-1]
            refused, selections = rig.call(scheduler, generate.Question(
                '', spec_obj.obj_to_primitive(), uuids[-1:], {}))
            if refused:
                assert refused[0] == 'NoValidHost', refused
                return len(uuids) - 1
            if pins:
                pins.boot(selections, made.flavor.vcpus)
    finally:
        rig_providers.forget(rig.placement, uuids)


@pytest.mark.parametrize('name', sorted(FLAVORS))
def test_capacity_equals_placing_until_nova_refuses(rig, name):
    [nova] = rig.schedulers
    row = capacity(nova, FLAVORS)[name]
    pins = Pins(rig) if name == 'pinned' else None

    assert row['exact'] is True
    assert row['placeable'] == placed(rig, nova, FLAVORS[name], pins) > 0


def test_capacity_counts_claims_of_dedicated_and_of_shared_cpus(rig):
    """Nova also offers hosts that provide VCPU for dedicated CPUs."""
    nova = rig.start('nova', filter_scheduler__enabled_filters='ComputeFilter')
    rig.wait_for(nova)
    row = capacity(nova, FLAVORS)['pinned']

    assert row['exact'] is True
    assert row['placeable'] == placed(rig, nova, FLAVORS['pinned']) > 0


def test_capacity_that_depends_on_the_order_of_claims_is_a_bound(rig):
    [nova] = rig.schedulers
    [row] = capacity(nova, {'isolated': ISOLATED}).values()

    assert row['exact'] is False
    assert 0 < placed(rig, nova, ISOLATED) <= row['placeable']
