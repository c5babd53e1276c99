"""Random requests with any combination of features."""

import json

from hypothesis import strategies as st

from tests.builders.drivers import CELL1
from tests.builders.drivers import CELL2
from tests.builders.numa import metadata
from tests.builders.requests import a_destination
from tests.builders.requests import a_group
from tests.builders.requests import a_request
from tests.builders.requests import an_image
from tests.properties.clouds import NAMES
from tests.properties.clouds import NODES
from tests.properties.clouds import UUIDS
from tests.properties.strategies import GUESTS
from tests.properties.strategies import PCI_REQUESTS
from tests.properties.strategies import one_of_each
from tests.properties.strategies import pairs
from tests.properties.strategies import some_of
from tests.properties.strategies import together

ISOLATED_IMAGE = 'isolated-image'

_SIZES = one_of_each(
    memory_mb=[512, 512, 0, 1, 513, 4096], vcpus=[1, 2, 8, 9],
    root_gb=[1, 1, 0, 40], ephemeral_gb=[0, 1], swap=[0, 1],
    is_bfv=[False, False, True],
    num_instances=[1, 1, 3])
_WHERE = one_of_each(
    availability_zone=[None, 'nova', 'z1', 'z9'],
    project_id=['a-project', 'other', 'nobody'],
    requested_destination=[
        None, None, None, {'cell': CELL1}, {'cell': CELL2},
        {'cell': CELL1, 'allow_cross_cell_move': True},
        {'cell': CELL2, 'allow_cross_cell_move': True}])

_WORDS = ('r1', '2', 's!= r1', '<in> r', '<or> QEMU <or> lxd', '>= 2', '<or>')
_EXTRA_SPECS = together(
    [*pairs('rack', *_WORDS[:3], missing=9),
     *pairs('aggregate_instance_extra_specs:rack', *_WORDS)],
    [*pairs('capabilities:rack', *_WORDS, missing=9),
     *pairs('capabilities:hypervisor_type', *_WORDS[2:]),
     *pairs('capabilities:host_ip', '<in> 192.'),
     *pairs('capabilities:supported_instances', '<in> kvm')],
    [*pairs('capabilities:cpu_info:vendor', 'Intel', 's!= Intel', '> 3',
            missing=6),
     *pairs('capabilities:cpu_info:topology:cores', '2', '>= 4'),
     *pairs('hw:maxphysaddr_bits', '40', '41'),
     *pairs('free_ram_mb', '>= 512'), *pairs('hw:x', '')],
    pairs('trust:trusted_host', 'trusted', 'untrusted', 'unknown', missing=3),
    [{}, {}, {'hw:cpu_policy': 'dedicated',
              'hw:cpu_thread_policy': 'require'}])

_IMAGES = st.tuples(
    together(
        pairs('hw_architecture', 'x86_64', 'i686', 'aarch64', missing=3),
        pairs('img_hv_type', 'kvm', 'xen', missing=4),
        pairs('hw_vm_mode', 'hvm', 'xen', missing=4),
        [*pairs('img_hv_requested_version', '>=6', '<6', '>=5,<7', missing=3),
         *pairs('hw_maxphysaddr_bits', 0, 40, 41)],
        [*pairs('os_type', 'linux', 'linux', 'windows', missing=2),
         *pairs('traits_required', ['A'], [])],
        [{}] * 4 + [{'hw_cpu_policy': 'dedicated',
                     'hw_cpu_thread_policy': 'require'}]),
    st.sampled_from(['an-image', 'an-image', ISOLATED_IMAGE, None])).map(
        lambda drawn: drawn[1] and an_image(drawn[0], id=drawn[1]))

_QUERIES = [
    ['>=', '$free_ram_mb', 1024], ['=', '$hypervisor_type', 'QEMU'],
    ['and', ['<', '$num_io_ops', 2], ['not', ['=', '$host', 'host1']]],
    ['or', ['=', '$stats.rack', 'r1'], ['in', '$host', 'host0', 'host2']],
    ['=', '$nothing', 1], ['<', '$hypervisor_version', 'x'], ['bogus'],
    ['=', '$free_ram_mb.x', 1], {'a': 1}, [], 'text']
_HINTS = together(
    pairs('different_host', ['m1'], ['m2'], UUIDS[1:], ['nobody'], missing=4),
    pairs('same_host', ['m1'], ['m2'], UUIDS[1:], ['nobody'], missing=4),
    [*pairs('build_near_host_ip', ['192.0.2.9'], missing=7), *(
        {'build_near_host_ip': [address], 'cidr': [cidr]}
        for address, cidr in [
            ('192.0.2.9', '/25'), ('192.0.2.9', '/16'), ('bad', '/8'),
            ('2001:db8::1', '/64'), ('198.51.100.7', '/32'),
            ('198.51.100.7', '2')])],
    pairs('query', *([json.dumps(query)] for query in _QUERIES), ['{'],
          missing=9),
    pairs('_nova_check_type', ['rebuild'], missing=9))

_GROUPS = one_of_each(
    policy=['affinity', 'anti-affinity', 'soft-affinity',
            'soft-anti-affinity'],
    members=[UUIDS, UUIDS[:1], UUIDS[1:3], [], ['nobody']],
    hosts=[['host0'], [], ['host1', 'host2'], ['elsewhere']],
    rules=pairs('max_server_per_host', 2, 1, 0, -1, 'bad', missing=2),
    version=['1.11', '1.10'])
_RETRIES = st.lists(st.sampled_from([
    *zip(NAMES, NODES, strict=False), ('host0', 'node1'), ('host1', 'host1'),
    ('host2', 'node3')]), max_size=2).map(lambda found: found or None)

#: Fields that the driver itself applies, before any filter.
_NARROWING = some_of([
    *pairs('ignore_hosts', ['host0'], ['HOST1', 'host2'], ['elsewhere'], []),
    *pairs('force_hosts', ['host0'], ['Host1'], ['host0', 'host2'],
           ['elsewhere']),
    *pairs('force_nodes', ['node0'], ['node2'], ['elsewhere']),
    *pairs('requested_destination', {'host': 'host0'},
           {'host': 'host1', 'node': 'node1'},
           {'host': 'host0', 'node': 'node2'}, {'host': 'elsewhere'})], 1, 2)


def _a_group(version, **fields):
    group = a_group(**{name: list(value) if isinstance(value, list) else value
                       for name, value in fields.items()})
    group.wire_version = version
    return group


def in_groups(uuids):
    """A RequestSpec of a small instance in a server group.

    uuids: of additional members.
    """
    return _GROUPS.map(lambda group: a_request(
        memory_mb=1, vcpus=1, root_gb=0, group=_a_group(
            **group | {'members': [*group['members'], *uuids]})))


@st.composite
def requests(draw, narrowing=False):
    """A RequestSpec.

    narrowing: whether it may force or ignore hosts, or name a destination.
    """
    fields = draw(_SIZES) | draw(_WHERE)
    if narrowing:
        fields |= draw(st.just({}) | _NARROWING)
    group = draw(_GROUPS | st.none())
    wanted = fields.pop('requested_destination')
    return a_request(
        extra_specs=draw(_EXTRA_SPECS), image=draw(_IMAGES),
        hints=draw(_HINTS), retry=draw(_RETRIES),
        group=group and _a_group(**group),
        requested_destination=wanted and a_destination(**wanted),
        pci_requests=draw(st.none() | PCI_REQUESTS),
        numa_topology=draw(st.none() | GUESTS),
        network_metadata=draw(st.none() | st.just(('p1',)).map(
            lambda names: metadata(*names))), **fields)
