"""The captured messages, and the cloud of the captured schedulers."""

import contextlib
import json
import pathlib

from tests.builders import clouds
from tests.functional import conftest

_WIRE = pathlib.Path(__file__).parents[1] / 'wire'

#: The filters of the captured schedulers.
FILTERS = ('RetryFilter,AvailabilityZoneFilter,ComputeFilter,'
           'ComputeCapabilitiesFilter,ImagePropertiesFilter,'
           'ServerGroupAntiAffinityFilter,ServerGroupAffinityFilter,'
           'NUMATopologyFilter,PciPassthroughFilter')
#: Prefix of the captures' names -> prefix of the host names in them.
ERAS = {'queens': 'q', '34': '34'}


def load(name):
    """The capture of that name (without .json)."""
    return json.loads((_WIRE / f'{name}.json').read_text())


def names(era, test=lambda capture: True):
    """Names of an era's captures with a request that was sent.

    test: predicate of a capture.
    """
    found = []
    for path in sorted(_WIRE.glob(f'{era}-*.json')):
        capture = json.loads(path.read_text())
        if 'request' in capture and test(capture):
            found.append(path.stem)
    return found


def is_call(capture):
    """Whether a capture has an answer."""
    return bool(capture['replies'])


def is_cast(capture):
    """Whether a capture has no answer."""
    return not capture['replies']


def cloud(era):
    """The four hosts that the captured schedulers decided on.

    Two rows were captured: the first host is plain, the fourth has two NUMA
    nodes and PCI devices.  The second host is a copy of the first; the third
    is a copy of the fourth without the PCI devices.
    """
    rows = load(f'{era}-db-rows')
    plain, numa = (_columns(row) for row in rows['compute_nodes'])
    nodes = [plain, _renamed(plain, 2), _renamed(numa, 3), numa]
    nodes[2]['pci_stats'] = plain['pci_stats']
    cells = [{'uuid': row['uuid'], 'name': row['name']}
             for row in rows['cell_mappings'] if row['name'] == 'cell1']
    hosts = [node['host'] for node in nodes]
    return clouds.a_cloud(
        now=max(row['last_seen_up'] for row in _compute(rows)),
        compute_nodes=nodes,
        services=[_columns(row) for row in _compute(rows)],
        aggregates=[_aggregate(rows, row) for row in rows['aggregates']],
        cells=cells,
        host_mappings=[{'host': host, 'cell_uuid': cells[0]['uuid']}
                       for host in hosts])


@contextlib.contextmanager
def open_stage(directory, era='34', **options):
    """A Stage of an era's cloud, on real servers, for a block.

    Its exchange and host are those that the messages were sent to.
    """
    with conftest.open_stage(
            directory, DEFAULT__control_exchange='nova',
            DEFAULT__host='sched1',
            # The captured compute services send no more heartbeats.
            DEFAULT__service_down_time=86400, **options) as stage:
        stage.load(cloud(era))
        yield stage


def _compute(rows):
    return [row for row in rows['services']
            if row['binary'] == 'nova-compute']


def _columns(row):
    """A captured row as {column: raw value}."""
    return {name: value['raw'] if isinstance(value, dict) else value
            for name, value in row.items()}


def _renamed(node, number):
    """A copy of a captured row for another host."""
    old = node['host'][-1]
    return {**node, 'id': number,
            'host': node['host'].replace(f'cn{old}', f'cn{number}'),
            'hypervisor_hostname': node['hypervisor_hostname'].replace(
                f'cn{old}', f'cn{number}'),
            'uuid': node['uuid'].replace(f'000{old}-', f'000{number}-', 1)}


def _aggregate(rows, row):
    def own(table):
        return [entry for entry in rows[table]
                if entry['aggregate_id'] == row['id']]
    return clouds.an_aggregate(
        row['id'], [entry['host'] for entry in own('aggregate_hosts')],
        uuid=row['uuid'], name=row['name'],
        metadata={entry['key']: entry['value']
                  for entry in own('aggregate_metadata')})
