"""A cloud in which every rule has an effect, and a request for each rule.

The hosts are the fake cloud's, with aggregates, metrics and instances.  There
is no database: only Python is measured.
"""

import json
import random

from oslo_utils import uuidutils

from nova_sched import conf as config
from nova_sched import objects
from nova_sched.cloud import fake_hardware
from nova_sched.db import cells
from nova_sched.db import reader
from nova_sched.hosts import instances
from nova_sched.hosts import rows as host_rows
from nova_sched.hosts import table as host_table
from nova_sched.plugins import loading as plugins

PROJECT = uuidutils.generate_uuid(dashed=False)
IMAGE = uuidutils.generate_uuid()
_STAMP = '2026-01-01T00:00:00'
_RATIOS = (16.0, 1.5, 1.0)
_METRICS = ('cpu.frequency', 'cpu.percent', 'cpu.user.time')
#: Rules that are not measured, because they send requests to a server.
_NOT_TIMED = {'TrustedFilter'}
_HARDWARE = {'NUMATopologyFilter', 'PciPassthroughFilter'}

#: Rules that judge distinct values; all other rules have the limit of numeric
#: rules.
_REPEATED = {
    'AggregateCoreFilter', 'AggregateDiskFilter',
    'AggregateImagePropertiesIsolation', 'AggregateInstanceExtraSpecsFilter',
    'AggregateIoOpsFilter', 'AggregateMultiTenancyIsolation',
    'AggregateNumInstancesFilter', 'AggregateRamFilter',
    'AggregateTypeAffinityFilter', 'AvailabilityZoneFilter',
    'ComputeCapabilitiesFilter', 'CrossCellWeigher', 'DifferentHostFilter',
    'HypervisorVersionWeigher', 'ImagePropertiesFilter',
    'ImagePropertiesWeigher', 'IsolatedHostsFilter', 'MetricsFilter',
    'MetricsWeigher', 'NUMATopologyFilter', 'PCIWeigher',
    'PciPassthroughFilter', 'RetryFilter', 'SameHostFilter',
    'ServerGroupAffinityFilter', 'ServerGroupAntiAffinityFilter',
    'ServerGroupSoftAffinityWeigher', 'ServerGroupSoftAntiAffinityWeigher',
    'SimpleCIDRAffinityFilter', 'TypeAffinityFilter'}


class RuleBed:
    """Hosts, the built-in rules, and a request for each rule.

    hosts: number of hosts.
    """

    def __init__(self, hosts):
        self.conf = config.new_conf([], [])
        for group, options in _OPTIONS.items():
            for name, value in options.items():
                self.conf.set_override(name, value, group)
        self._records = _records(hosts)
        names = [record['host'] for record in self._records]
        self._running = {uuidutils.generate_uuid(): host
                         for host in names[::10]}
        self.members = list(self._running)[:20]
        self.chain = [self._made(cls) for cls in plugins.all_filters()
                      if cls.__name__ in _CHAIN]

    def rules(self):
        """Yield all built-in rules that are measured, configured."""
        for cls in (*plugins.all_filters(), *plugins.all_weighers()):
            if cls.__name__ not in _NOT_TIMED:
                yield self._made(cls)

    def _made(self, cls):
        rule = cls()
        rule.configure(self.conf)
        return rule

    def table(self):
        """Return a new HostTable, with nothing cached."""
        return host_table.HostTable.from_records(
            [host_rows.record(record['row'], record['cell_uuid'], _RATIOS)
             for record in self._records],
            **{name: [record[name] for record in self._records]
               for name in self._records[0] if name not in (
                   'row', 'host', 'cell_uuid')})

    def hosts(self, table):
        """Return the HostBlock of a request for all hosts."""
        return table.snapshot(instances.Instances(
            lambda uuids: {uuid: self._running[uuid] for uuid in uuids
                           if uuid in self._running},
            lambda *names: [
                {'uuid': uuid, 'host': host, 'instance_type_id': 7}
                for uuid, host in self._running.items()])).block()

    def request(self, name):
        """Return a request on which a rule acts; None: for the chain."""
        values = {**_REQUESTS.get(name, {})}
        hints = {key: self.members[:3] if key.endswith('_host') else value
                 for key, value in values.pop('hints', {}).items()}
        policy = values.pop('policy', None)
        if policy:
            values['instance_group'] = objects.InstanceGroup(
                uuid=uuidutils.generate_uuid(), name='group', policy=policy,
                members=list(self.members), _rules={},
                hosts=[self._running[uuid] for uuid in self.members])
        return a_request(hints, **values)


def a_request(hints, extra_specs=None, properties=None, **values):
    """Return a RequestSpec for a small instance."""
    return objects.RequestSpec(**{
        'project_id': PROJECT, 'user_id': PROJECT, 'num_instances': 1,
        'instance_uuid': uuidutils.generate_uuid(),
        'flavor': objects.Flavor(
            id=7, name='m1.small', flavorid='7', memory_mb=2048, vcpus=2,
            root_gb=20, ephemeral_gb=0, swap=0,
            extra_specs=extra_specs or {}),
        'image': objects.ImageMeta(
            id=IMAGE, properties=objects.ImageMetaProps.from_dict(
                properties or {'hw_architecture': 'x86_64'})),
        'scheduler_hints': {key: value if isinstance(value, list)
                            else [value] for key, value in hints.items()},
        **values})


def kind(rule):
    """'repeated' or 'numeric': the kind of host value that a rule reads."""
    return 'repeated' if type(rule).__name__ in _REPEATED else 'numeric'


def column(rule, hosts, spec):
    """Return a rule's answer for all hosts."""
    if hasattr(rule, 'mask'):
        return rule.mask(hosts, spec)
    return rule.raw(hosts, spec)


def by_row(rule):
    """Return a rule's method that judges one host."""
    return getattr(rule, 'host_passes', None) or rule._weigh_object


def _records(count):
    rng, choose = random.Random(1), random.Random(1)
    aggregates = [_aggregate(number, choose) for number in range(40)]
    sets = [tuple(choose.sample(aggregates, choose.randrange(4)))
            for _ in range(200)]
    nodes = [fake_hardware.compute_node(number, rng, _STAMP)
             for number in range(1, count + 1)]
    return [{
        'row': dict.fromkeys(reader.COMPUTE_NODE_COLUMNS) | node | {
            'updated_at': None, 'metrics': _metrics(choose),
            'pci_stats': _devices(choose)},
        'host': node['host'], 'cell_uuid': cells.SINGLE_CELL_UUID,
        'aggregates': choose.choice(sets), 'service': None,
        'service_up': choose.random() > 0.01, 'service_disabled': False,
        'service_forced_down': False, 'service_last_seen': 0.0,
    } for node in nodes]


def _aggregate(number, choose):
    metadata = {'availability_zone': f'az{number % 3}', 'ssd': 'true',
                'cpu_allocation_ratio': '4.0', 'disk_allocation_ratio': '1',
                'ram_allocation_ratio': '1.2', 'max_io_ops_per_host': '20',
                'max_instances_per_host': '30',
                'instance_type': 'm1.small, m1.large',
                'hw_architecture': 'x86_64',
                'filter_tenant_id': f'{PROJECT}, {"0" * 32}'}
    chosen = choose.sample(sorted(metadata), 5)
    return objects.Aggregate(
        id=number, name=f'aggregate{number}',
        metadata={key: metadata[key] for key in chosen})


def _devices(choose):
    return json.dumps([
        {'vendor_id': '8086', 'product_id': '1520', 'numa_node': node,
         'count': choose.randrange(9)} for node in (0, 1)])


def _metrics(choose):
    return json.dumps([
        {'name': name, 'value': choose.randrange(100), 'timestamp': _STAMP,
         'source': 'libvirt.LibvirtDriver'} for name in _METRICS])


_OPTIONS = {
    'metrics': {'weight_setting': ['cpu.percent=-1.0', 'cpu.frequency=0.5']},
    'filter_scheduler': {
        'isolated_images': [uuidutils.generate_uuid()],
        'isolated_hosts': ['fake-0003', 'fake-0005'],
        'image_props_weight_multiplier': 1.0}}

_SPECS = {'capabilities:cpu_info:arch': 's== x86_64',
          'capabilities:vcpus_total': '>= 2'}

_REQUESTS = {
    'AggregateInstanceExtraSpecsFilter': {
        'extra_specs': {'aggregate_instance_extra_specs:ssd': 'true'}},
    'AvailabilityZoneFilter': {'availability_zone': 'az1'},
    'ComputeCapabilitiesFilter': {'extra_specs': _SPECS},
    'DifferentHostFilter': {'hints': {'different_host': None}},
    'JsonFilter': {'hints': {'query': json.dumps(
        ['and', ['>=', '$free_ram_mb', 4096],
         ['<', '$num_io_ops', 8], ['>', '$vcpus_total', 4]])}},
    'NUMATopologyFilter': {'numa_topology': objects.InstanceNUMATopology(
        cells=[objects.InstanceNUMACell(
            id=number, memory=1024, cpuset={2 * number, 2 * number + 1})
            for number in range(2)])},
    'PciPassthroughFilter': {'pci_requests': objects.InstancePCIRequests(
        requests=[objects.InstancePCIRequest(
            count=2, spec=[{'vendor_id': '8086', 'product_id': '1520'}],
            alias_name='nic', request_id=None, numa_policy='legacy')])},
    'RetryFilter': {'retry': objects.SchedulerRetries.from_dict({
        'num_attempts': 2, 'hosts': [['fake-0002', 'fake-0002']]})},
    'SameHostFilter': {'hints': {'same_host': None}},
    'ServerGroupAffinityFilter': {'policy': 'affinity'},
    'ServerGroupAntiAffinityFilter': {'policy': 'anti-affinity'},
    'ServerGroupSoftAffinityWeigher': {'policy': 'soft-affinity'},
    'ServerGroupSoftAntiAffinityWeigher': {'policy': 'soft-anti-affinity'},
    'SimpleCIDRAffinityFilter': {
        'hints': {'build_near_host_ip': '10.0.0.1', 'cidr': '/8'}},
    None: {'extra_specs': _SPECS, 'policy': 'anti-affinity',
           'hints': {'different_host': None, 'query': json.dumps(
               ['>=', '$free_ram_mb', 4096])}},
}

#: The filters of Nova 34 without NUMA and PCI, and without filters that no
#: host would pass.
_CHAIN = {
    'AggregateImagePropertiesIsolation', 'AggregateInstanceExtraSpecsFilter',
    'AggregateIoOpsFilter', 'AggregateMultiTenancyIsolation',
    'AggregateNumInstancesFilter', 'AggregateTypeAffinityFilter',
    'AllHostsFilter', 'ComputeCapabilitiesFilter', 'ComputeFilter',
    'DifferentHostFilter', 'ImagePropertiesFilter', 'IoOpsFilter',
    'IsolatedHostsFilter', 'JsonFilter', 'MetricsFilter',
    'NumInstancesFilter', 'ServerGroupAntiAffinityFilter',
    'SimpleCIDRAffinityFilter'}
