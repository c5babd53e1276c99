"""The limits of the size of a request."""

import json
import re
import tracemalloc

import pytest

from nova_sched import exception
from nova_sched import objects
from nova_sched.compat.legacy import numa as numa_legacy
from nova_sched.objects import bounds
from nova_sched.objects import image_meta
from nova_sched.objects import numa
from nova_sched.objects.fields import MalformedError
from tests.unit.objects import captures

SPEC = captures.args('34-requested-destination-full')['spec_obj']
KILO = captures.args('34-kilo-style-call')
FLAVOR = ('flavor', 'nova_object.data')
IMAGE = ('image', 'nova_object.data', 'properties', 'nova_object.data')
RANGES = '0-8191,' * 2000


def envelope(name, **data):
    version = getattr(objects, name).VERSION
    return {'nova_object.name': name, 'nova_object.namespace': 'nova',
            'nova_object.version': version, 'nova_object.data': data}


def named(count):
    return [f'name{number}' for number in range(count)]


def by_name(count):
    return dict.fromkeys(named(count), '1')


def pci(requests=1, specs=1, conditions=1):
    return envelope('InstancePCIRequests', requests=[
        envelope('InstancePCIRequest', count=1,
                 spec=[by_name(conditions)] * specs)] * requests)


def cells(count):
    return envelope('InstanceNUMATopology', cells=[
        envelope('InstanceNUMACell', id=0, cpuset=[0], memory=1)] * count)


def group(**values):
    return envelope('InstanceGroup', policy='affinity', **values)


def retry(hosts):
    return envelope('SchedulerRetries', hosts=envelope(
        'ComputeNodeList',
        objects=[envelope('ComputeNode', host='a')] * hosts))


def networks(name, item, count):
    return envelope(name, objects=[envelope(item)] * count)


def groups(count=1, **values):
    return [envelope('RequestGroup', **values)] * count


#: Path in the data of a request; function that returns a value of a size; rest
#: of the path in the error; maximum size.
BOUNDED = [
    (('ignore_hosts',), named, '', bounds.HOSTS),
    (('force_hosts',), named, '', bounds.HOSTS),
    (('force_nodes',), named, '', bounds.HOSTS),
    (('retry',), retry, '.hosts.objects', bounds.RETRIES),
    (('instance_group',), lambda n: group(members=named(n)), '.members',
     bounds.GROUP_MEMBERS),
    (('instance_group',), lambda n: group(hosts=named(n)), '.hosts',
     bounds.GROUP_MEMBERS),
    (('scheduler_hints',), by_name, '', bounds.HINTS),
    (('scheduler_hints',), lambda n: {'a': named(n)}, '.a',
     bounds.HINT_VALUES),
    ((*FLAVOR, 'extra_specs'), by_name, '', bounds.EXTRA_SPECS),
    ((*FLAVOR, 'extra_specs'), lambda n: {'a': 'x' * n}, '.a',
     bounds.EXTRA_SPEC_TEXT),
    (IMAGE, by_name, '', bounds.IMAGE_PROPERTIES),
    (IMAGE, lambda n: {'a': 'x' * n}, '.a', bounds.IMAGE_PROPERTY_TEXT),
    (IMAGE, lambda n: {'os_distro': 'x' * n}, '.os_distro',
     bounds.IMAGE_PROPERTY_TEXT),
    ((*IMAGE, 'img_hv_requested_version'), lambda n: ','.join(['>=1'] * n),
     '', bounds.VERSION_CONDITIONS),
    ((*IMAGE, 'hw_numa_cpus'), lambda n: [[0]] * n, '', bounds.NUMA_CELLS),
    ((*IMAGE, 'hw_numa_cpus'), lambda n: [[*range(n)]], '[0]',
     bounds.CPU_NUMBER + 1),
    ((*IMAGE, 'hw_numa_mem'), lambda n: [1] * n, '', bounds.NUMA_CELLS),
    (('numa_topology',), cells, '.cells', bounds.NUMA_CELLS),
    (('pci_requests',), pci, '.requests', bounds.PCI_REQUESTS),
    (('requested_networks',), lambda n: networks(
        'NetworkRequestList', 'NetworkRequest', n), '.objects',
     bounds.NETWORKS),
    (('security_groups',), lambda n: networks(
        'SecurityGroupList', 'SecurityGroup', n), '.objects',
     bounds.NETWORKS),
    (('network_metadata',), lambda n: envelope(
        'NetworkMetadata', physnets=named(n)), '.physnets', bounds.NETWORKS),
    (('requested_resources',), groups, '', bounds.REQUEST_GROUPS),
    (('requested_resources',), lambda n: groups(resources=by_name(n)),
     '[0].resources', bounds.GROUP_NAMES),
    (('requested_resources',), lambda n: groups(required_traits=named(n)),
     '[0].required_traits', bounds.GROUP_NAMES),
    (('requested_destination',), lambda n: envelope(
        'Destination', forbidden_aggregates=named(n)),
     '.forbidden_aggregates', bounds.GROUP_NAMES),
]


def changed(path, value):
    return captures.changed(SPEC, path, value)


@pytest.mark.parametrize('path, made, below, limit', BOUNDED)
def test_too_large_value_is_refused_with_field_size_and_limit(
        path, made, below, limit):
    """A value at the limit is accepted."""
    objects.arguments.from_wire(changed(path, made(limit)))

    with pytest.raises(exception.InvalidInput) as caught:
        objects.arguments.from_wire(changed(path, made(limit + 1)))

    field, _, rest = caught.value.kwargs['reason'].partition(' = ')
    steps = [step for step in path if step != 'nova_object.data']
    assert field == '.'.join(('spec_obj', *steps)) + below
    assert re.search(f'(of|has) {limit + 1} (items|characters|conditions)',
                     rest)
    assert re.search(f'must have at most {limit}( items)?$', rest)


@pytest.mark.parametrize('requests, specs, conditions', [
    (1, 1, 1000), (1, 1001, 0), (64, 4, 3)])
def test_conditions_of_all_pci_requests_are_limited(
        requests, specs, conditions):
    """A specification without conditions counts as one."""
    with pytest.raises(exception.InvalidInput, match=(
            r'spec_obj.pci_requests.requests = .*: has 10[0-9]+ conditions '
            'in its specifications, and must have at most 1000')):
        objects.arguments.from_wire(changed(
            ('pci_requests',), pci(requests, specs, conditions)))


def legacy(instance=None, image=None, properties=None):
    request_spec = {**KILO['request_spec']}
    request_spec['instance_properties'] = {
        **request_spec['instance_properties'], **(instance or {})}
    if image:
        request_spec['image'] = {'properties': image}
    return objects.arguments.from_legacy_dicts(
        request_spec, {**KILO['filter_properties'], **(properties or {})})


@pytest.mark.parametrize('parts, field', [
    ({'instance': {'numa_topology': {'cells': [
        {'id': 0, 'cpus': '0-8191', 'memory': 1}] * 500}}},
     'request_spec.instance_properties.numa_topology.cells'),
    ({'image': {f'hw_numa_cpus.{number}': '0-8191' for number in range(500)}},
     'request_spec.image.properties.hw_numa_cpus'),
    ({'instance': {'pci_requests': [{'count': 1}] * 500}},
     'request_spec.instance_properties.pci_requests.requests'),
    ({'image': by_name(2000)}, 'request_spec.image.properties'),
    ({'image': {'a': 'x' * 3_000_000}}, 'request_spec.image.properties.a'),
    ({'image': {'hypervisor_version_requires': '>=1' * 1_000_000}},
     'request_spec.image.properties.img_hv_requested_version'),
    ({'image': {'hypervisor_version_requires': '>=1,' * 50_000}},
     'request_spec.image.properties.img_hv_requested_version'),
    ({'properties': {'scheduler_hints': by_name(2000)}},
     'filter_properties.scheduler_hints'),
    ({'properties': {'retry': {'hosts': [['a', 'a']] * 2000}}},
     'filter_properties.retry.hosts'),
])
def test_large_dict_request_is_refused_before_it_is_expanded(parts, field):
    """500 cells of all CPUs would take 250 MB."""
    tracemalloc.start()
    try:
        with pytest.raises(exception.InvalidInput) as caught:
            legacy(**parts)
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
    finally:
        tracemalloc.stop()

    assert caught.value.kwargs['reason'].startswith(f'{field} = ')


def test_name_of_image_property_is_limited():
    limit = bounds.IMAGE_PROPERTY_NAME
    objects.arguments.from_wire(changed(IMAGE, {'x' * limit: '1'}))

    with pytest.raises(exception.InvalidInput, match=(
            f'a name of {limit + 1} characters, .* at most {limit}')):
        objects.arguments.from_wire(changed(IMAGE, {'x' * (limit + 1): '1'}))


@pytest.mark.parametrize('value', [
    'x' * 3_000_000, '>=1' + '.1' * 1_500_000, '>=1.0,' * 200_000])
def test_large_image_property_is_not_parsed(value, monkeypatch):
    monkeypatch.setattr(image_meta.versionutils, 'VersionPredicate', None)

    with pytest.raises(exception.InvalidInput):
        objects.arguments.from_wire(
            changed((*IMAGE, 'img_hv_requested_version'), value))


def test_check_of_text_takes_little_memory():
    deep = [1] * 50_000 + ['x'] * 50_000
    for _ in range(100):
        deep = [deep]
    call = {'spec_obj': {'name': '\u00fc', 'scheduler_hints': deep}}
    as_json = json.dumps(call).encode()
    tracemalloc.start()
    try:
        objects.arguments.check_text(call, as_json)
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()


class TestCPUs:

    def test_repeated_range_is_not_expanded(self, monkeypatch):
        drawn = []
        monkeypatch.setattr(
            numa, 'range', lambda *ends: drawn.append(ends) or range(*ends),
            raising=False)

        assert numa.parse_cpus(RANGES) == set(range(8192))
        assert len(drawn) <= 1

    @pytest.mark.parametrize('text, found', [
        ('', set()), ('0', {0}), ('0-3,^2,8', {0, 1, 3, 8}), ('^2', set()),
        ('2,2,1-2', {1, 2}), ('^0-1,0-3', {2, 3}), ('8191', {8191}),
        ('1-', {1})])
    def test_excluded_numbers_are_left_out(self, text, found):
        assert numa.parse_cpus(text) == found

    @pytest.mark.parametrize('text, must', [
        ('8192', 'up to 8191'), ('0-65535', 'up to 8191'),
        (f'0-{10 ** 18}', 'up to 8191'),
        ('0,' * 9000, 'has 18000 characters, and must have at most 16384')])
    def test_large_number_and_long_text_are_refused(self, text, must):
        with pytest.raises(MalformedError) as caught:
            numa.parse_cpus(text)

        assert str(caught.value).endswith(must)

    def test_cpus_of_all_cells_are_limited(self):
        with pytest.raises(MalformedError, match=(
                r'cells = .*: has 16384 CPUs, and must have at most 8192')):
            numa_legacy.topology_from_any({'cells': [
                {'id': number, 'cpus': '0-8191'} for number in range(2)]})

    def test_number_of_guest_cpu_is_limited(self):
        with pytest.raises(MalformedError, match='0 to 8191'):
            objects.InstanceNUMACell(id=0, cpuset={8192})


def test_largest_requests_of_nova_are_accepted():
    """128 items of metadata, servers and groups of a thousand, 64 KiB."""
    spec = changed(('scheduler_hints',), {
        'different_host': named(1600), 'query': ['x' * (64 << 10)]})
    spec['nova_object.data'] |= {
        'instance_group': group(members=named(1000)), 'num_instances': 1000,
        'pci_requests': pci(32, 4, 6), 'numa_topology': cells(16)}
    spec['nova_object.data']['flavor']['nova_object.data'][
        'extra_specs'] = by_name(128)

    assert objects.arguments.from_wire(spec).num_instances == 1000
