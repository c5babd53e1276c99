"""The providers of a cloud, written directly to a Placement's database.

Ten thousand of them would take half an hour through its API. Only the first is
created through the API, so that Placement writes its own rows; the others get
rows of the same kind. At the end one of them is read through the API.
"""

import collections

from tests.interop import dumps

Provider = collections.namedtuple(
    'Provider', 'name uuid inventories traits aggregates')

#: Reserved MB of each host, and reserved percent of its disk.
_RESERVED_MB, _RESERVED_PERCENT = 512, 5
_RATIOS = {'VCPU': 4.0, 'MEMORY_MB': 1.0, 'DISK_GB': 1.0}
#: Hosts per rack; every second rack has an aggregate.
_RACK = 40

_TABLES = ('resource_providers', 'inventories', 'resource_provider_traits',
           'resource_provider_aggregates', 'placement_aggregates',
           'resource_classes', 'traits')

#: Traits that a current libvirt compute service reports for each node.
_COMPUTE = [f'COMPUTE_{name}' for name in (
    'NODE', 'DEVICE_TAGGING', 'TRUSTED_CERTS', 'SAME_HOST_COLD_MIGRATE',
    'RESCUE_BFV', 'ACCELERATORS', 'SOCKET_PCI_NUMA_AFFINITY',
    'ADDRESS_SPACE_PASSTHROUGH', 'ADDRESS_SPACE_EMULATED',
    'CONFIG_DRIVE_REGENERATION', 'FIRMWARE_BIOS', 'FIRMWARE_UEFI',
    'GRAPHICS_MODEL_BOCHS', 'GRAPHICS_MODEL_VGA', 'GRAPHICS_MODEL_VIRTIO',
    'IMAGE_TYPE_ISO', 'IMAGE_TYPE_QCOW2', 'IMAGE_TYPE_RAW',
    'MIGRATE_AUTO_CONVERGE', 'NET_ATTACH_INTERFACE',
    'NET_ATTACH_INTERFACE_WITH_TAG', 'NET_VIF_MODEL_E1000',
    'NET_VIF_MODEL_VIRTIO', 'STORAGE_BUS_SATA', 'STORAGE_BUS_SCSI',
    'STORAGE_BUS_USB', 'STORAGE_BUS_VIRTIO', 'VOLUME_ATTACH',
    'VOLUME_ATTACH_WITH_TAG', 'VOLUME_EXTEND', 'VOLUME_MULTI_ATTACH')]
_CPU = {
    'x86_64': ['HW_CPU_HYPERTHREADING', *(f'HW_CPU_X86_{name}' for name in (
        'AESNI', 'AVX', 'AVX2', 'BMI', 'CLMUL', 'MMX', 'SSE', 'SSE2',
        'SSE41', 'SSE42'))],
    'aarch64': [f'HW_CPU_AARCH64_{name}' for name in (
        'AES', 'ASIMD', 'ATOMICS', 'CRC32', 'FP', 'PMULL', 'SHA1', 'SHA2')]}
_DISABLED = 'COMPUTE_STATUS_DISABLED'


def of_node(node, aggregates, disabled=False):
    """Return the Provider of a compute node.

    node: its row.  aggregates: uuids of its aggregates in Nova; the one of its
    rack comes on top.
    """
    arch = 'aarch64' if '"aarch64"' in node['cpu_info'] else 'x86_64'
    totals = {'VCPU': node['vcpus'], 'MEMORY_MB': node['memory_mb'],
              'DISK_GB': node['local_gb']}
    reserved = {'VCPU': 0, 'MEMORY_MB': _RESERVED_MB,
                'DISK_GB': node['local_gb'] * _RESERVED_PERCENT // 100}
    rack = node['id'] // _RACK
    return Provider(
        node['hypervisor_hostname'], node['uuid'],
        {name: {'total': total, 'reserved': reserved[name], 'min_unit': 1,
                'max_unit': total, 'step_size': 1,
                'allocation_ratio': _RATIOS[name]}
         for name, total in totals.items()},
        [*_COMPUTE, 'OWNER_NOVA', *_CPU[arch], *[_DISABLED] * disabled],
        [*aggregates, *[f'00000000-0000-4000-8000-{rack:012d}']
         * (rack % 2)])


def fill(placement, found):
    """Write providers to an empty Placement.

    placement: of tests.interop.placement.  found: list of Provider.
    """
    first, *others = found
    placement.provider(*first)
    with dumps.Tables(placement.database_url, *_TABLES) as (
            connection, tables):
        _Writer(connection, tables, first).write(others)
    for provider in (first, found[-1]):
        check(placement, provider)


def check(placement, provider):
    """Raise AssertionError unless Placement has the same Provider."""
    path = f'/resource_providers/{provider.uuid}'
    said = {what: placement.ask('GET', f'{path}/{what}')[what]
            for what in ('inventories', 'traits', 'aggregates')}
    said |= {what: sorted(said[what]) for what in ('traits', 'aggregates')}
    expected = {'inventories': provider.inventories,
                'traits': sorted(provider.traits),
                'aggregates': sorted(provider.aggregates)}
    assert said == expected, (said, expected)
    found = placement.ask('GET', path)
    assert (found['name'], found['root_provider_uuid']) == (
        provider.name, provider.uuid), found


class _Writer:
    """Writes rows for providers, similar to the first one's."""

    def __init__(self, connection, tables, first):
        self._connection, self._tables = connection, tables
        self._classes = self._ids('resource_classes', 'name')
        self._traits = self._ids('traits', 'name')
        self._like = dict(self._select('resource_providers')[0])
        assert self._like['uuid'] == first.uuid

    def _select(self, table):
        return list(self._connection.execute(
            self._tables[table].select()).mappings())

    def _ids(self, table, key):
        return {row[key]: row['id'] for row in self._select(table)}

    def write(self, found):
        """Insert a list of Provider."""
        stamps = {name: self._like[name]
                  for name in ('created_at', 'updated_at')}
        aggregates = self._aggregates(found, stamps)
        begin = self._like['id'] + 1
        numbered = list(enumerate(found, begin))
        self._insert('resource_providers', [
            {**self._like, 'id': number, 'root_provider_id': number,
             'uuid': provider.uuid, 'name': provider.name}
            for number, provider in numbered])
        of = 'resource_provider_id'
        self._insert('inventories', [
            {**stamps, **inventory, of: number,
             'resource_class_id': self._classes[name]}
            for number, provider in numbered
            for name, inventory in provider.inventories.items()])
        self._insert('resource_provider_traits', [
            {**stamps, of: number, 'trait_id': self._traits[name]}
            for number, provider in numbered for name in provider.traits])
        self._insert('resource_provider_aggregates', [
            {**stamps, of: number, 'aggregate_id': aggregates[uuid]}
            for number, provider in numbered for uuid in provider.aggregates])

    def _aggregates(self, found, stamps):
        """Insert missing aggregates; return all: uuid -> id."""
        known = self._ids('placement_aggregates', 'uuid')
        self._insert('placement_aggregates', [
            {**stamps, 'uuid': uuid} for uuid in sorted({
                uuid for provider in found for uuid in provider.aggregates}
                - known.keys())])
        return self._ids('placement_aggregates', 'uuid')

    def _insert(self, table, rows):
        if rows:
            self._connection.execute(self._tables[table].insert(), rows)
