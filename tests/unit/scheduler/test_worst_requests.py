"""The worst request for each search of doc/source/limits.rst is answered.

Each runs one rule on 100 distinct hosts, within the default time budget.
"""

import pathlib
import re

import pytest

import nova_sched
from nova_sched import conf as config
from nova_sched import exception
from nova_sched import objects
from nova_sched.hosts import budget
from nova_sched.hosts.decision import Decision
from nova_sched.objects import bounds
from nova_sched.scheduler import utils
from nova_sched.scheduler.offer import NO_OFFER
from tests.builders import clouds
from tests.builders import drivers
from tests.builders import numa
from tests.builders import placement
from tests.builders.hosts import a_host
from tests.builders.pci import a_pci_request
from tests.builders.pci import a_pool
from tests.builders.pci import pci_requests
from tests.builders.pci import pci_stats
from tests.builders.requests import a_request

PAGE = (pathlib.Path(nova_sched.__file__).parents[1] / 'doc/source/limits.rst')
HOSTS, CELLS = 100, 32
SECONDS = config.new_conf([], []).nova_sched.request_time_budget

#: The longest list in one text.
WORDS = ' '.join(f'<or> {number}' for number in range(
    bounds.EXTRA_SPEC_TEXT // 9))


def with_cells(number, fields=lambda cell: {}, **values):
    """A host with many NUMA cells; fields: of each."""
    return a_host(f'h{number}', numa_topology=numa.cells_text(*(
        numa.a_cell(cell, cpus=range(8 * cell, 8 * cell + 8),
                    memory=4096 + number, **fields(cell))
        for cell in range(CELLS))), **values)


def a_guest(count, **fields):
    """The NUMA topology of a guest; fields: of each cell."""
    return {'numa_topology': numa.a_guest(*(
        numa.guest_cell(cell, **{'pinned': 1, **fields})
        for cell in range(count)))}


def big_host(number):
    return with_cells(
        number, pci_stats=pci_stats(*(
            a_pool(numa_node=cell % CELLS, product_id='ab'[cell % 2],
                   tag=f'{number}-{cell}') for cell in range(2 * CELLS))))


def host(number):
    return a_host(f'h{number}', stats={'asked': str(number)},
                  hypervisor_version=1_000_000 + number,
                  free_ram_mb=10 ** 6, total_usable_ram_mb=10 ** 6,
                  aggregates=[{'asked': f'a{number}'}])


def specs(prefix):
    return {f'{prefix}:{number}' if number else f'{prefix}:asked': WORDS
            for number in range(bounds.EXTRA_SPECS)}


def uuids(count):
    return [clouds.a_uuid(number) for number in range(1, count + 1)]


def aggregated(number):
    return a_host(f'h{number}', aggregates=[{
        f'hw_asked{asked}': f'{number},1'
        for asked in range(bounds.IMAGE_PROPERTIES)}])


def connected(number):
    return with_cells(number, lambda cell: {'networks': [f'net{cell}']})


def candidates():
    """Ten of each host, as ``offered_host`` has them."""
    return placement.Placement({
        f'h{number}': [placement.an_allocation_request(
            f'h{number}', **{'nic-0': [f'{number}-{device}']})
            for device in range(10)] for number in range(HOSTS)}).offer()


def offered_host(number):
    return with_cells(number, uuid=f'h{number}', pci_stats=pci_stats(*(
        a_pool(numa_node=CELLS, rp_uuid=f'{number}-{device}')
        for device in range(10))))


#: Function on the page -> function: filter, host of a number, request.
WORST = {
    'hardware.numa.search.Search': lambda: (
        'NUMATopologyFilter', big_host, a_request(
            **a_guest(CELLS // 2),
            pci_requests=pci_requests(*(
                a_pci_request(17, {'product_id': product},
                              numa_policy='required') for product in 'ab')))),
    'hardware.numa.selection.SelectionRules': lambda: (
        'NUMATopologyFilter', connected, a_request(
            **a_guest(CELLS // 2),
            network_metadata=numa.metadata(*(
                f'net{CELLS // 2 - 1 - number}'
                for number in range(bounds.NETWORKS))))),
    'hardware.pci.devices.HostDevices': lambda: (
        'PciPassthroughFilter', big_host, a_request(
            pci_requests=pci_requests(*(
                a_pci_request(1, *(
                    {'vendor_id': '8086', 'tag': f'{request}-{spec}'}
                    for spec in range(
                        bounds.PCI_CONDITIONS // bounds.PCI_REQUESTS // 2)),
                    {'vendor_id': '8086'})
                for request in range(bounds.PCI_REQUESTS // 2))))),
    'rules.offered': lambda: (
        'NUMATopologyFilter', offered_host, a_request(
            **a_guest(4), pci_requests=pci_requests(a_pci_request(
                1, request_id='nic', numa_policy='required')))),
    'rules.queries.Query': lambda: ('JsonFilter', host, a_request(hints={
        'query': ['["or"' + ', ["=", "$host", "$nodename", "x"]' * 3000
                  + ']']})),
    'filters.compute_capabilities_filter': lambda: (
        'ComputeCapabilitiesFilter', host,
        a_request(extra_specs=specs('capabilities'))),
    'filters.aggregate_instance_extra_specs': lambda: (
        'AggregateInstanceExtraSpecsFilter', host,
        a_request(extra_specs=specs('aggregate_instance_extra_specs'))),
    'filters.aggregate_image_properties_isolation': lambda: (
        'AggregateImagePropertiesIsolation', aggregated, a_request(
            image_properties={f'hw_asked{number}': '1' for number in range(
                bounds.IMAGE_PROPERTIES)})),
    'filters.image_props_filter': lambda: (
        'ImagePropertiesFilter', host, a_request(image_properties={
            'hypervisor_version_requires': ','.join(
                ['>=1'] * bounds.VERSION_CONDITIONS)})),
    'filters.affinity_filter': lambda: (
        'DifferentHostFilter', host, a_request(
            hints={'different_host': uuids(bounds.HINT_VALUES)},
            group={'policy': 'anti-affinity',
                   'members': uuids(bounds.GROUP_MEMBERS),
                   'hosts': [f'gone{number}' for number
                             in range(bounds.GROUP_MEMBERS)]})),
    'filters.retry_filter': lambda: ('RetryFilter', host, a_request(retry=[
        (f'h{number}', 'gone') for number in range(bounds.RETRIES)])),
    'rules.narrowing': lambda: ('AllHostsFilter', host, a_request(
        ignore_hosts=[f'gone{number}' for number in range(bounds.HOSTS)])),
    'hardware.numa.guest': lambda: (
        'NUMATopologyFilter', big_host, a_request(
            numa_topology=numa.a_guest(*(
                numa.guest_cell(cell, pcpuset=set(range(
                    cell, bounds.CPU_NUMBER, bounds.NUMA_CELLS)),
                    cpu_policy='dedicated')
                for cell in range(bounds.NUMA_CELLS))))),
    'scheduler.utils.resource_requests': lambda: (
        'AllHostsFilter', host, a_request(requested_resources=[
            objects.RequestGroup(
                requester_id=f'group{number}', resources={'CUSTOM_A': 1},
                required_traits={f'CUSTOM_{trait}' for trait in range(
                    bounds.GROUP_NAMES // 10)})
            for number in range(bounds.REQUEST_GROUPS // 10)])),
    'rules.reasons': lambda: ('NUMATopologyFilter', big_host, a_request(
        numa_topology=numa.a_guest(*(
            numa.guest_cell(cell, pinned=1, pagesize=cell + 1)
            for cell in range(bounds.NUMA_CELLS))))),
    'scheduler.attempt': lambda: ('RamFilter', host, a_request(
        num_instances=1000, memory_mb=1)),
}


def functions():
    """The first column of the page's table."""
    table = PAGE.read_text().partition('list-table::')[2]
    return re.findall(r'^   \* - ``(.*)``$', table.partition('Options\n')[0],
                      re.MULTILINE)


def test_each_search_has_a_worst_case():
    assert functions() == [*WORST]


@pytest.mark.parametrize('name', WORST)
def test_the_worst_request_is_answered(name):
    filter_, make, spec = WORST[name]()
    driver = drivers.MemoryScheduler(*map(make, range(HOSTS)),
                                     enabled_filters=[filter_])
    record = Decision()
    try:
        with budget.charged(budget.Budget(SECONDS)):
            for query in utils.resource_requests(spec, max_results=1000):
                query.query(query.minimum_version())
            drivers.select(driver, spec, record=record, offer=(
                candidates() if name == 'rules.offered' else NO_OFFER))
    except exception.NoValidHost as refused:
        assert str(refused)
    except exception.InvalidInput as refused:
        assert 'request_time_budget' not in str(refused)
