"""The figure in each reason is really insufficient.

Each run draws enough hosts to reject a thousand by rules of NUMA cells,
devices, amounts, groups and aggregates.
"""

import re

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

from nova_sched import exception
from tests.builders.examples import examples
from tests.builders.hosts import a_host
from tests.builders.numa import FOUR_CORES
from tests.builders.numa import a_cell
from tests.builders.numa import a_guest
from tests.builders.numa import cells_text
from tests.builders.numa import guest_cell
from tests.builders.pci import a_pci_request
from tests.builders.pci import a_pool
from tests.builders.pci import pci_requests
from tests.builders.pci import pci_stats
from tests.builders.requests import a_request
from tests.properties.built_ins import CONFIGURED
from tests.properties.built_ins import named
from tests.properties.clouds import Cloud
from tests.properties.clouds import clouds
from tests.properties.requests import requests
from tests.properties.strategies import one_of_each

NUMBER = r'(-?[\d.e+]+|-?inf|nan)'
#: Reasons of NUMATopologyFilter and PciPassthroughFilter without a figure.
WITHOUT = re.compile(
    'hosts have no NUMA topology|need cores with several threads, hosts have '
    'none|.* no NUMA cells with room that are near to its networks|.*, but '
    'none near to all its devices and networks together|.*, but not in the '
    'order in which they are tried|the first NUMA cell has no CPU to pin|.*'
    'not at the providers that Placement names')


def of_numa(words):
    """Whether the figure in NUMATopologyFilter's reason is insufficient."""
    last = words.rpartition('; ')[2]
    if found := re.search(rf'{NUMBER} of {NUMBER} ', last):
        have, need = map(int, found.groups())
        # Nova's API never requests an amount of 0.
        return have < need or not need
    if found := re.search(r'(\d+) MB are no whole number of (\d+) kB', last):
        memory, size = map(int, found.groups())
        return memory * 1024 % size > 0 or not memory
    if found := re.search('1 thread, .* cores of ([0-9]+)$', last):
        return int(found[1]) > 1
    return bool(WITHOUT.fullmatch(last))


def of_devices(words):
    pairs = [(int(need), int(most)) for need, most in re.findall(
        r'need (\d+) of .*?, most free (-?\d+)', words)]
    return any(most < need or not need
               for need, most in pairs) or of_numa(words)


def of_amounts(words):
    if words.endswith(', none reported'):
        return True
    found = re.search(rf'need (?P<how>exactly |fewer than )?{NUMBER} .*?'
                      rf'(?:most free|largest host|has) {NUMBER}', words)
    need, have = float(found[2]), float(found[3])
    if found['how'] == 'exactly ':
        return have != need
    if found['how'] == 'fewer than ':
        return not have < need
    return not have >= need


def of_group(words):
    if found := re.search('at most (-?[0-9]+) of its group', words):
        counts = re.findall('([0-9]+) on host', words)
        return all(int(count) >= int(found[1]) for count in counts)
    return 'its group is on ' in words


def of_aggregates(words):
    for wanted, there in re.findall(
            r"'([^']*)' (?:needed, hosts have|requested, hosts are in|"
            'requested, aggregates take|is not among those of its aggregates:)'
            r' ([^;]*)', words):
        if not re.match('[<>=s!]', wanted) and wanted in there.split(', '):
            return False
    return True


RULES = {
    'NUMATopologyFilter': of_numa, 'PciPassthroughFilter': of_devices,
    **dict.fromkeys((
        'RamFilter', 'CoreFilter', 'DiskFilter', 'AggregateRamFilter',
        'AggregateCoreFilter', 'AggregateDiskFilter', 'ExactRamFilter',
        'ExactCoreFilter', 'ExactDiskFilter', 'IoOpsFilter',
        'NumInstancesFilter', 'AggregateIoOpsFilter',
        'AggregateNumInstancesFilter'), of_amounts),
    'ServerGroupAntiAffinityFilter': of_group,
    'ServerGroupAffinityFilter': of_group,
    **dict.fromkeys((
        'AggregateInstanceExtraSpecsFilter', 'AvailabilityZoneFilter',
        'AggregateMultiTenancyIsolation', 'AggregateTypeAffinityFilter'),
        of_aggregates)}


def refused(filter_, cloud, spec):
    """The reason of a filter for the hosts that it rejects; '' for none."""
    block = cloud.block()
    try:
        passes = filter_.keep(block, spec)
    except exception.InvalidInput:
        return ''
    rejected = block.where(~np.asarray(passes, np.bool_))
    return filter_.reason(rejected, spec) if len(rejected) else ''


@given(cloud=clouds(5, 6), spec=requests(),
       filters=st.sampled_from(CONFIGURED))
@examples(400, 60)
def test_figures_of_all_rules_are_insufficient(cloud, spec, filters):
    found = {name: refused(named(filters[0])[name], cloud, spec)
             for name in RULES}

    wrong = {name: words for name, words in found.items()
             if words and not RULES[name](words)}
    assert not wrong


CELLS = one_of_each(
    cpus=[range(8), range(8), range(2)], siblings=[(), FOUR_CORES],
    pcpuset=[None, None, (), range(4)],
    pinned_cpus=[(), (), {0, 1, 4}, range(8)], cpu_usage=[0, 90],
    memory_usage=[0, 4000], memory=[4096, 4096, 500],
    pages=[(), [(4, 1048576), (2048, 100)], [(2048, 300)],
           [(4, 100), (2048, 2048), (1048576, 2)]]).map(
               lambda drawn: {name: value for name, value in drawn.items()
                              if value is not None})
GUEST_CELLS = one_of_each(
    pinned=[1, 3, 4, 9, 0], floating=[0, 0, 1, 9],
    memory=[512, 512, 513, 4096],
    pagesize=[None, None, None, -3, -2, -1, 4, 2048],
    cpu_thread_policy=[None, None, 'require', 'isolate'])
DEVICES = st.lists(one_of_each(
    count=[1, 2], numa_policy=[None, 'required', 'preferred', 'socket'],
    product_id=['1520', '10fb']), max_size=2)
POOLS = st.lists(one_of_each(count=[1, 2], numa_node=[None, 0, 1],
                             product_id=['1520', '10fb']), max_size=3)


@st.composite
def numa_hosts(draw):
    """A host with one to three cells, and devices."""
    cells = [a_cell(number, **fields, socket=number // 2)
             for number, fields in enumerate(draw(
                 st.lists(CELLS, min_size=1, max_size=3)))]
    return a_host(numa_topology=cells_text(*cells, newer=draw(
        st.sampled_from([True, True, True, False]))),
        pci_stats=pci_stats(*(a_pool(**pool) for pool in draw(POOLS))))


@pytest.mark.parametrize('name', ['NUMATopologyFilter',
                                  'PciPassthroughFilter'])
@given(hosts=st.lists(numa_hosts(), min_size=1, max_size=4),
       cells=st.lists(GUEST_CELLS, min_size=1, max_size=3), devices=DEVICES,
       emulator=st.sampled_from([None, None, 'isolate']))
@examples(1600, 200)
def test_figures_for_numa_cells_and_devices_are_insufficient(
        name, hosts, cells, devices, emulator):
    spec = a_request(
        numa_topology=a_guest(*(guest_cell(number, **fields) for number, fields
                                in enumerate(cells)), emulator=emulator),
        pci_requests=pci_requests(*(a_pci_request(
            each['count'], {'product_id': each['product_id']},
            numa_policy=each['numa_policy']) for each in devices)))
    words = refused(named(CONFIGURED[0][0])[name],
                    Cloud(tuple(hosts), {}, None, []), spec)

    assert not words or RULES[name](words), words
