"""Random clouds with many edge cases, so that each rule has an effect."""

import dataclasses
import functools
import json

from hypothesis import strategies as st
import numpy as np

from nova_sched.scheduler.offer import NO_OFFER
from tests.builders.drivers import CELL1
from tests.builders.drivers import CELL2
from tests.builders.hosts import NEVER_REPORTED
from tests.builders.hosts import a_host
from tests.builders.hosts import instances_on
from tests.builders.hosts import table
from tests.builders.placement import Placement
from tests.builders.placement import an_allocation_request
from tests.builders.requests import INSTANCE_UUID
from tests.properties.strategies import SOME_CELLS
from tests.properties.strategies import SOME_PCI_STATS
from tests.properties.strategies import one_of_each
from tests.properties.strategies import pairs
from tests.properties.strategies import some_of

UUIDS = ['m1', 'm2', 'm3', INSTANCE_UUID]
#: Names of hosts: each with one node, or some with two.
NAMED = (('host0', 'host1', 'host2', 'host3', 'host4', 'host5'),
         ('host0', 'host0', 'host1', 'host2', 'host2', 'host3'))
NAMES = [*NAMED[0][:4], 'elsewhere']
NODES = [f'node{number}' for number in range(len(NAMED[0]))]

_AMOUNTS = [65536, 65536, 512, 1024, 4096, 65536, 0, 1, 511, -1, -2048]
_RATIOS = [1.0, 1.5, 16.0, 0.5]
_RAM = one_of_each(free_ram_mb=_AMOUNTS, ram_allocation_ratio=_RATIOS,
                   total_usable_ram_mb=[65536, 65536, 4096, 512, 0])
_DISK = one_of_each(free_disk_mb=[*_AMOUNTS, 1024, 65536],
                    disk_allocation_ratio=_RATIOS,
                    total_usable_disk_gb=[100, 100, 40, 1, 0])
_CPUS = one_of_each(vcpus_total=[8, 8, 1, 0], vcpus_used=[0, 0, 7, 1, 64],
                    cpu_allocation_ratio=_RATIOS, num_io_ops=[0, 1, 3, 9],
                    num_instances=[0, 2, 60])
_SERVICE = one_of_each(
    service_up=[True] * 3 + [False], service_disabled=[False] * 4 + [True],
    bare_metal=[False] * 7 + [True], failed_builds=[0, 0, 1, 5],
    cell_uuid=[CELL1, CELL1, CELL2])

_CPU_INFO = json.dumps({'vendor': 'Intel', 'topology': {'cores': 2},
                        'maxphysaddr': {'bits': 40}})
_SOFTWARE = one_of_each(
    hypervisor_type=['QEMU', 'QEMU', 'lxd', None],
    hypervisor_version=[6002000, 5, 0, None],
    cpu_info=[_CPU_INFO, '{', None], stats=[{'rack': 'r1'}, {'rack': None},
                                            {'rack': '2'}, {}],
    host_ip=['192.0.2.1', '192.0.2.200', '198.51.100.7', '2001:db8::5',
             None, 'none'])
_TRIPLES = [[['x86_64', 'kvm', 'hvm'], ['i686', 'kvm', 'hvm']],
            [['x86_64', 'kvm', 'hvm']], [], [['i386', 'xen', 'pv']],
            [['aarch64', 'kvm'], 7], [['X86_64', None, 3], ['riscv', 'new']]]
_REPORTS = one_of_each(
    supported_instances=[*map(json.dumps, _TRIPLES), None],
    metrics=[None, '{', '{}', *(json.dumps([
        {'name': name, 'value': value}, {'name': 'load', 'value': 2}])
        for name, value in [
            ('cpu.percent', 0.29), ('cpu.percent', None),
            ('cpu.percent', 'bad'), ('cpu.percent', 1), ('disk', 7)])])
_HARDWARE = one_of_each(pci_stats=SOME_PCI_STATS, numa_topology=SOME_CELLS)

_NUMBERS = ('1.5', '0', '-2', '3', '1e400', '-inf', 'nan', 'bad', '', '9, 2')
_TEXTS = [
    *pairs('availability_zone', 'nova', 'z1', 'z1, z2', ''),
    *pairs('rack', 'r1', 'r1,r2', '2', 'two, 3', ''),
    *pairs('hw_architecture', 'x86_64', 'aarch64, i686', ''),
    *pairs('os_type', 'linux', 'windows,linux', 'windows'),
    *pairs('traits_required', 'A'), *pairs('hw_', 'x'),
    *pairs('filter_tenant_id', 'a-project', 'other, a-project', 'other', ''),
    *pairs('filter_tenant_id2', 'a-project', 'third'),
    *pairs('instance_type', 'm1.tiny', 'm1.large, m1.tiny', 'm1.large', '')]
_FIGURES = [pair for name in (
    'cpu_allocation_ratio', 'ram_allocation_ratio', 'disk_allocation_ratio',
    'max_io_ops_per_host', 'max_instances_per_host', 'ram_weight_multiplier',
    'io_ops_weight_multiplier', 'metrics_weight_multiplier',
    'image_props_weight_multiplier') for pair in pairs(name, *_NUMBERS)]
_AGGREGATES = st.lists(
    st.tuples(some_of(_TEXTS, 2, 6), some_of(_FIGURES, 1, 4)).map(
        lambda parts: parts[0] | parts[1]), max_size=3)

_HOSTS = st.tuples(
    _RAM, _DISK, _CPUS, _SERVICE, _SOFTWARE, _REPORTS, _HARDWARE,
    # Numbers of its aggregates; numbers beyond the drawn ones are ignored.
    one_of_each(aggregates=[(0,), (), (1,), (2,), (0, 1), (2, 0)]),
    st.sampled_from([{}] * 9 + [NEVER_REPORTED])).map(
        lambda parts: {name: value for part in parts
                       for name, value in part.items()})

_RUNNING = st.dictionaries(st.sampled_from(UUIDS), one_of_each(
    host=['host0', 'host0', 'host1', 'host1', 'host2', 'host3', 'elsewhere'],
    instance_type_id=[5, 5, 6, None],
    image=[{'os_type': 'linux'}, {}, {'os_type': 'windows'},
           {'hw_architecture': 'amd64', 'os_type': 'linux'},
           {'vm_mode': 'pv', 'trait:A': 'required'}]), min_size=2)

#: Placement's candidates; providers have the names in NODES.
_OFFERS = st.dictionaries(
    st.sampled_from([*NODES, 'nowhere']), st.lists(st.sampled_from([
        {}, {'nic-id-0': ['p1']}, {'nic-id-0': ['p2']}, {'other': ['p2']}]),
        min_size=1, max_size=3), min_size=4)


@dataclasses.dataclass(frozen=True)
class Cloud:
    """Hosts, their instances, and Placement's candidates.

    records: as of ``a_host``.
    running: {uuid: dict} with host, instance_type_id and image.
    offers: {provider uuid: [mappings]}, or None without Placement.
    refuses: uuids of providers from which nothing can be claimed.
    """

    records: tuple
    running: dict
    offers: dict | None
    refuses: list

    @functools.cached_property
    def table(self):
        """The hosts as a HostTable."""
        return table(*self.records)

    def offer(self):
        """The Offer for a request."""
        if self.offers is None:
            return NO_OFFER
        return Placement({
            provider: [an_allocation_request(provider, **mappings)
                       for mappings in found]
            for provider, found in self.offers.items()},
            self.refuses).offer()

    def snapshot(self, offer):
        """The HostSnapshot of a request."""
        return self.table.snapshot(instances_on(self.running, {
            uuid: fields['image'] for uuid, fields in self.running.items()}),
            offer)

    def block(self, rows=None):
        """A fresh HostBlock of all hosts, or of some rows."""
        return self.snapshot(self.offer().candidates).block(
            None if rows is None else np.array(rows, dtype=np.int64))

    def of(self, rows):
        """The cloud with only these hosts, in this order."""
        return dataclasses.replace(
            self, records=tuple(self.records[row] for row in rows))


@st.composite
def clouds(draw, min_size=0, max_size=5):
    """A Cloud of a few hosts."""
    drawn = draw(st.lists(_HOSTS, min_size=min_size, max_size=max_size))
    aggregates = draw(_AGGREGATES)
    names = draw(st.sampled_from(NAMED))
    records = tuple(
        a_host(name, **{'uuid': node, 'nodename': node, **values,
                        'aggregates': [aggregates[number] for number
                                       in values['aggregates']
                                       if number < len(aggregates)]})
        for name, node, values in zip(names, NODES, drawn, strict=False))
    return Cloud(records, draw(_RUNNING), draw(st.none() | _OFFERS),
                 draw(st.sampled_from([[], [], NODES[:1], NODES[1:3]])))


def blocks(min_size=0, max_size=5):
    """A HostBlock of a few hosts, with instances on some of them."""
    return clouds(min_size, max_size).map(Cloud.block)
