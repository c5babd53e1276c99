"""The JSON form of picks is read as it was written."""

import json

import pytest

from nova_sched import exception
from nova_sched import objects
from nova_sched.inventory import picks_on_wire
from nova_sched.inventory.in_flight import News
from nova_sched.inventory.in_flight import PlacedInstance
from tests.builders.numa import guest_cell
from tests.builders.requests import a_request

NUMA = objects.InstanceNUMATopology(cells=[guest_cell(pinned=2)])
PCI = objects.InstancePCIRequests(requests=[objects.InstancePCIRequest(
    count=1, spec=[{'vendor_id': '8086'}], alias_name='nic')])
LIMITS = objects.NUMATopologyLimits(cpu_allocation_ratio=2.0,
                                    ram_allocation_ratio=1.5)


def a_pick(key='i', spec=None, group=None, claiming=False, limits=None):
    spec = spec or a_request(memory_mb=1000)
    return PlacedInstance(
        key, 'h', 'n', spec.demand(), limits, group, 12.0625,
        {} if claiming else None)


def over_the_wire(*news):
    """Write news as JSON text and read it again."""
    return picks_on_wire.read(json.loads(json.dumps(
        picks_on_wire.written(list(news)))))


def told(placed):
    """Return all data of a PlacedInstance for comparison."""
    return {**{name: getattr(placed, name) for name in (
        'key', 'host', 'nodename', 'group', 'at', 'claiming', 'place')},
        'demand': placed.demand.obj_to_primitive(),
        'limits': placed.numa_limits
        and placed.numa_limits.obj_to_primitive()}


@pytest.mark.parametrize('pick', [
    a_pick(),
    a_pick(group='g', claiming=True),
    a_pick(('i', 3)),
    a_pick(limits=LIMITS, spec=a_request(
        numa_topology=NUMA, pci_requests=PCI, vcpus=2)),
    a_pick(spec=a_request(extra_specs={'hw:cpu_policy': 'dedicated'}))],
    ids=['plain', 'claimed, of a group', 'of several', 'NUMA and PCI',
         'extra specs'])
def test_pick_is_read_as_written(pick):
    [([found], claimed, *_)] = over_the_wire(News([pick]))

    assert told(found) == told(pick)
    assert claimed == [(pick.key, pick.place, pick.at)] * pick.claiming


def test_forgotten_picks_are_read_as_written():
    forgotten = [('i', ('h', 'n'), 1.0), (('i', 1), ('h', 'n'), 12.0625)]

    assert over_the_wire(News(forgotten=forgotten)) == [
        News([], [], forgotten, from_peer=True)]


def test_shared_demand_is_written_once():
    spec = a_request(numa_topology=NUMA)
    written = picks_on_wire.written([
        News([a_pick(f'i{number}', spec) for number in range(5)]),
        News([a_pick('another', a_request(numa_topology=NUMA))])])

    assert len(written['demands']) == 2
    found = [placed for each in picks_on_wire.read(written)
             for placed in each.assumed]
    assert len({id(placed.demand.flavor) for placed in found}) == 2


def written_with(change):
    """Write a pick and modify the result."""
    written = picks_on_wire.written([News([a_pick()])])
    change(written)
    return written


@pytest.mark.parametrize('change', [
    lambda said: said.pop('news'),
    lambda said: said.pop('demands'),
    lambda said: said['demands'].clear(),
    lambda said: said['demands'].insert(0, {'nova_object.name': 'Flavor'}),
    lambda said: said['news'].append(5),
    lambda said: said['news'][0]['placed'].append(['i', 'h']),
    lambda said: said['news'][0]['placed'][0].__setitem__(1, 7),
    lambda said: said['news'][0]['placed'][0].__setitem__(1, 256 * 'h'),
    lambda said: said['news'][0]['placed'][0].__setitem__(6, 'soon'),
    lambda said: said['news'][0]['taken_back'].append(['i', 'h', 1.0])])
def test_malformed_news_raise(change):
    with pytest.raises((LookupError, TypeError, ValueError,
                        exception.InvalidInput)):
        picks_on_wire.read(written_with(change))
