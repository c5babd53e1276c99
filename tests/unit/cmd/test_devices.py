"""PCI devices that commands make of flavor and image, as Nova's API does."""

import json

import pytest

from nova_sched import exception
from nova_sched import objects
from nova_sched.cmd.manage import specs
from nova_sched.objects import arguments
from tests.builders import requests
from tests.builders import rules
from tests.unit.cmd.test_request_spec import spec_of

GPU = {'name': 'gpu', 'vendor_id': '10de', 'product_id': '1eb8'}
IDS = {'vendor_id': '10de', 'product_id': '1eb8'}


def devices_of(flavor, *aliases, policy=None, options=(), **conf):
    """The RequestSpec of a flavor with devices by alias."""
    return spec_of(
        f'--extra-spec=pci_passthrough:alias={flavor}', *options,
        *([f'--extra-spec=hw:pci_numa_affinity_policy={policy}']
          if policy else []),
        pci__alias=[alias if isinstance(alias, str) else json.dumps(alias)
                    for alias in aliases], **conf)


@pytest.mark.parametrize('flavor, aliases, asked', [
    ('gpu:1', [GPU], [('gpu', 1, [IDS], 'legacy')]),
    (' gpu : 2, gpu:1', [GPU], [('gpu', 2, [IDS], 'legacy'),
                                ('gpu', 1, [IDS], 'legacy')]),
    ('gpu:1', [GPU | {'device_type': 'type-PF', 'numa_policy': 'required'}],
     [('gpu', 1, [IDS | {'dev_type': 'type-PF'}], 'required')]),
    ('gpu:1', [GPU | {'live_migratable': 'Yes'}],
     [('gpu', 1, [IDS | {'live_migratable': 'true'}], 'legacy')]),
    ('gpu:1', [GPU | {'resource_class': 'gpu-a', 'traits': 'a'}],
     [('gpu', 1, [IDS | {'resource_class': 'gpu-a', 'traits': 'a'}],
       'legacy')]),
    ('gpu:1', [GPU, {**GPU, 'product_id': '1eb9'}],
     [('gpu', 1, [IDS, IDS | {'product_id': '1eb9'}], 'legacy')]),
    ('gpu:1,b:2', [GPU, {**GPU, 'name': 'b'}],
     [('gpu', 1, [IDS], 'legacy'), ('b', 2, [IDS], 'legacy')]),
])
def test_a_flavor_asks_by_alias(flavor, aliases, asked):
    found = devices_of(flavor, *aliases).pci_requests.requests

    assert asked == [(one.alias_name, one.count, one.spec, one.numa_policy)
                     for one in found]
    assert len({one.request_id for one in found}) == len(asked)


@pytest.mark.parametrize('flavor, aliases, words', [
    ('gpu', [GPU], 'must be NAME:NUMBER'),
    ('gpu:x', [GPU], 'must be NAME:NUMBER'), ('', [GPU], 'must be NAME:NUM'),
    ('gpu:1,', [GPU], 'must be NAME:NUMBER'),
    ('gqu:1', [GPU], r'alias has no gqu; did you mean gpu\?'),
    ('GPU:1', [GPU], r'alias has no GPU; did you mean gpu\?'),
    ('gpu:1', [], r'alias is not set\. Give the file that nova-api reads'),
    ('gpu:1', ['gpu'], 'must be JSON'), ('gpu:1', [[GPU]], 'must be an obj'),
    ('gpu:1', [GPU | {'vendor': 'x'}], r'did you mean vendor_id\?'),
    ('gpu:1', [{'name': 'gpu'}], 'must have vendor_id and product_id'),
    ('gpu:1', [GPU | {'numa_policy': 'x'}], 'must be one of required'),
    ('gpu:1', [GPU | {'device_type': 'x'}], 'must be one of type-PCI'),
    ('gpu:1', [GPU, GPU | {'numa_policy': 'required'}], 'same numa_policy'),
    ('gpu:1', [GPU, GPU | {'device_type': 'type-VF'}], 'same device_type'),
])
def test_wrong_aliases_are_refused(flavor, aliases, words):
    with pytest.raises(exception.InvalidInput, match=words):
        devices_of(flavor, *aliases)


@pytest.mark.parametrize('options, alias, policies', [
    (['--extra-spec=hw:pci_numa_affinity_policy=socket'], None,
     ['socket', 'socket']),
    (['--image-property=hw_pci_numa_affinity_policy=preferred'], None,
     ['preferred', 'preferred']),
    (['--extra-spec=hw:pci_numa_affinity_policy=socket'], 'required',
     ['socket', 'socket']),
    ([], 'required', ['required', None]), ([], None, ['legacy', None])])
def test_the_policy_is_the_flavor_s_the_image_s_or_the_alias_s(
        options, alias, policies):
    found = devices_of(
        'gpu:1', GPU | ({'numa_policy': alias} if alias else {}),
        options=[*options, '--pci', 'vendor_id=8086,product_id=1520'])

    assert [one.numa_policy for one in found.pci_requests.requests] == policies


@pytest.mark.parametrize('options, words', [
    (['--extra-spec=hw:pci_numa_affinity_policy=near'], 'must be one of requ'),
    (['--extra-spec=hw:pci_numa_affinity_policy=legacy',
      '--image-property=hw_pci_numa_affinity_policy=socket'],
     'must not differ')])
def test_a_policy_that_contradicts_is_refused(options, words):
    with pytest.raises(exception.InvalidInput, match=words):
        spec_of(*options)


class TestInPlacement:
    """Each device is a group of its own in the query."""

    @staticmethod
    def groups(flavor, *aliases, options=()):
        found = devices_of(flavor, *aliases, options=options,
                           pci_in_placement=True)
        prefixes = [one.request_id for one in found.pci_requests.requests]
        return [(group.requester_id.replace(prefixes[0], 'first'),
                 group.resources, group.required_traits)
                for group in found.requested_resources]

    @pytest.mark.parametrize('alias, resource_class, traits', [
        (GPU, 'CUSTOM_PCI_10DE_1EB8', set()),
        (GPU | {'resource_class': 'gpu-a', 'traits':
                'a,CUSTOM_B,HW_GPU_API_VULKAN'}, 'CUSTOM_GPU_A',
         {'CUSTOM_A', 'CUSTOM_B', 'HW_GPU_API_VULKAN'}),
        ({'name': 'gpu', 'resource_class': 'PGPU'}, 'PGPU', set()),
        ({'name': 'gpu', 'resource_class': 'CUSTOM_X'}, 'CUSTOM_X', set())])
    def test_a_device_is_a_resource_class_with_traits(
            self, alias, resource_class, traits):
        assert self.groups('gpu:2', alias) == [
            (f'first-{number}', {resource_class: 1}, traits)
            for number in (0, 1)]

    def test_devices_of_no_known_kind_are_left_to_the_filter(self):
        assert len(self.groups('gpu:1', GPU, options=[
            '--pci', 'physical_network=net', '--pci',
            'vendor_id=8086,product_id=1520'])) == 2

    def test_an_alias_stands_for_one_kind(self):
        with pytest.raises(exception.InvalidInput,
                           match='must be the only one of that name'):
            self.groups('gpu:1', GPU, GPU)


def test_a_stored_request_gets_the_groups_that_nova_does_not_store():
    device, port = (objects.InstancePCIRequest(
        count=2, alias_name=alias, request_id=alias or 'p', spec=[IDS])
        for alias in ('gpu', None))
    spec = requests.a_request(pci_requests=objects.InstancePCIRequests(
        requests=[device, port])).obj_to_primitive()

    for _ in range(2):
        specs.edit_stored(spec, {}, rules.a_conf(pci_in_placement=True))
        found = arguments.from_wire(spec)
        assert [group.requester_id for group in found.requested_resources
                ] == ['gpu-0', 'gpu-1']
        assert len(found.pci_requests.requests) == 2


def test_without_placement_there_are_no_groups():
    assert devices_of('gpu:1', GPU).requested_resources == []


def test_a_spec_in_a_file_has_the_devices_of_its_flavor(tmp_path):
    file = tmp_path / 'spec.json'
    flavor = {'memory_mb': 512, 'vcpus': 1, 'root_gb': 1, 'ephemeral_gb': 0,
              'extra_specs': {'pci_passthrough:alias': 'gpu:2'}}
    for given, count in (({}, 2), ({'pci_requests': {'requests': []}}, None)):
        file.write_text(json.dumps({'flavor': flavor} | given))
        found = spec_of('--spec', file, pci__alias=[json.dumps(GPU)])

        requests = found.pci_requests.requests
        assert (requests[0].count if requests else None) == count


@pytest.mark.parametrize('option, words', [
    ('--extra-spec=accel:device_profile=fpga',
     'extra spec accel:device_profile is not translated'),
    ('--image-property=img_block_device_mapping=[]',
     'image property img_block_device_mapping is not translated')])
def test_untranslated_parts_are_logged(caplog, option, words):
    spec_of(option)

    assert words in caplog.text
