"""``request plan`` reads flavors and images as Nova's API does."""

import json
import random

import pytest

from nova_sched import exception
from nova_sched.objects import glance_image
from nova_sched.objects.fields import MalformedError
from tests.builders.examples import so_many
from tests.interop.conftest import Nova
from tests.unit.cmd.test_request_spec import spec_of

pytestmark = pytest.mark.real

ALIASES = [json.dumps(alias) for alias in (
    {'name': 'nic', 'vendor_id': '8086', 'product_id': '1520'},
    {'name': 'gpu', 'vendor_id': '10de', 'product_id': '1eb8',
     'device_type': 'type-PF', 'numa_policy': 'preferred'},
    {'name': 'gpu', 'vendor_id': '10de', 'product_id': '1eb9',
     'device_type': 'type-PF', 'numa_policy': 'preferred'})]
MASKS = ('^0', '0-1', '^0-1', '2-3', '0-3', '^0-3', '9', 'x')
EXTRA_SPECS = {
    'hw:cpu_policy': ('dedicated', 'dedicated', 'shared', 'mixed', 'both'),
    'hw:cpu_thread_policy': ('prefer', 'isolate', 'require', 'x'),
    'hw:cpu_realtime': ('yes', 'no', 'true'), 'hw:cpu_realtime_mask': MASKS,
    'hw:cpu_dedicated_mask': MASKS,
    'hw:emulator_threads_policy': ('share', 'isolate', 'x'),
    'hw:numa_nodes': ('1', '2', '3', '0', 'x'),
    'hw:numa_cpus.0': ('0-1', '0', '0-3'), 'hw:numa_cpus.1': ('2-3', '1-3'),
    'hw:numa_mem.0': ('1024', '512'), 'hw:numa_mem.1': ('1024', '1536'),
    'hw:mem_page_size': ('small', 'large', 'any', '2048', '2MB', '1GB', 'x'),
    'hw:locked_memory': ('true', 'false'), 'hw:pmem': ('a', 'a,b'),
    'hw:pci_numa_affinity_policy': ('required', 'legacy', 'socket', 'x'),
    'pci_passthrough:alias': ('nic:1', 'gpu:2', 'nic:1, gpu:1', 'x:1',
                              'nic', 'nic:x')}
PROPERTIES = {
    'hw_cpu_policy': ('dedicated', 'shared', 'mixed'),
    'hw_cpu_thread_policy': ('prefer', 'isolate', 'require'),
    'hw_cpu_realtime_mask': ('^0', '0-1', '0-3', 'x'),
    'hw_numa_nodes': ('1', '2'), 'hw_numa_cpus.0': ('0-1', '0-3'),
    'hw_numa_cpus.1': ('2-3',), 'hw_numa_mem.0': ('1024', '2048'),
    'hw_numa_mem.1': ('1024',), 'hw_locked_memory': ('true', 'false'),
    'hw_mem_page_size': ('2048', 'large', 'x', 'small'),
    'hw_pci_numa_affinity_policy': ('required', 'preferred', 'socket')}
TEXTS = ('true', 'False', 'yes', 'off', '1', '0', '2', '', ' 7 ', 'what', '-1',
         '1.5', 'Linux', 'windows', 'VIRTIO', 'lsiLogicsas', 'VirtualE1000')
TYPED = ('hw_boot_menu', 'hw_pmu', 'hw_qemu_guest_agent', 'hw_mem_encryption',
         'hw_vif_multiqueue_enabled', 'img_hide_hypervisor_id', 'hw_video_ram',
         'hw_cpu_sockets', 'img_version', 'hw_machine_type', 'os_type',
         'os_distro')


@pytest.fixture
def nova(tmp_path):
    """A Nova with the aliases."""
    file = tmp_path / 'nova.conf'
    file.write_text('[pci]\n' + ''.join(
        f'alias = {alias}\n' for alias in ALIASES))
    return Nova(file)


def drawn(chance, choices, most):
    """At most ``most`` of the choices, with a value each."""
    return {name: chance.choice(choices[name]) for name in chance.sample(
        sorted(choices), chance.randint(0, most))}


def ours(extra_specs, properties):
    """The request of a plan in the form of Nova's answer; None if refused."""
    try:
        spec = spec_of('--vcpus', 4, '--ram', 2048, *(
            f'--extra-spec={name}={value}'
            for name, value in extra_specs.items()), *(
            f'--image-property={name}={value}'
            for name, value in properties.items()), pci__alias=ALIASES)
    except exception.InvalidInput:
        return None
    cells = spec.numa_topology
    return {
        'emulator': cells and cells.emulator_threads_policy,
        'cells': cells and [
            [sorted(cell.cpuset), sorted(cell.pcpuset), cell.memory,
             cell.pagesize, cell.cpu_policy, cell.cpu_thread_policy]
            for cell in cells.cells],
        'devices': [[device.alias_name, device.count, device.spec,
                     device.numa_policy]
                    for device in spec.pci_requests.requests]}


def test_cells_and_devices_equal_those_of_nova_s_api(nova):
    """Or both refuse, for any reason."""
    chance = random.Random(1)
    asked = [(drawn(chance, EXTRA_SPECS, 5), drawn(chance, PROPERTIES, 2))
             for _ in range(so_many(400))]
    for extra_specs, properties in asked:
        nova.will('wanted', extra_specs, properties)

    different = [
        (extra_specs, properties, theirs, mine)
        for (extra_specs, properties), theirs in zip(
            asked, nova.answers(), strict=True)
        if (mine := ours(extra_specs, properties)) != theirs.get('answer')]
    assert different == []


@pytest.mark.parametrize('name', TYPED)
def test_image_properties_are_read_as_by_nova(nova, name):
    for text in TEXTS:
        nova.will('properties', {name: text})

    for text, theirs in zip(TEXTS, nova.answers(), strict=True):
        try:
            mine = glance_image.image_from_dict(
                {'properties': {name: text}}).properties.flat()
        except MalformedError:
            mine = None
        assert (text, mine) == (text, theirs.get('answer'))
