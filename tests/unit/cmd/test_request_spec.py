"""nova-sched-manage request: the request that the options describe."""

import argparse
import json

import pytest

from nova_sched import exception
from nova_sched.cmd.manage import specs
from nova_sched.objects import arguments
from tests.builders import rules

IMAGE = '155d900f-4e14-4e4c-a73d-069cbf4541e6'


def spec_of(*options, cloud=None, **conf):
    """The RequestSpec that options of the command describe.

    cloud: path of a file with flavors.  conf: options, as of rules.a_conf.
    """
    parser = argparse.ArgumentParser()
    specs.add_request_arguments(parser)
    return arguments.from_wire(specs.build_spec(
        parser.parse_args([str(option) for option in options]),
        rules.a_conf(**conf), cloud))


class TestRequest:

    def test_has_the_names_it_is_given(self):
        """Rules compare the names of flavor, image and project."""
        spec = spec_of('--flavor', 'm1.gold', '--vcpus', 1, '--ram', 512,
                       '--disk', 1, '--image', IMAGE, '--project', 'p1',
                       '--hint', 'a=1', '--hint', 'a=2', '--extra-spec',
                       'x=y=z', '--swap', 64, '--ephemeral', 2, '--zone',
                       'az2', '--force-host', 'a', '--ignore-host', 'b',
                       '--ignore-host', 'c')

        assert (spec.flavor.name, spec.image.id, spec.project_id) == (
            'm1.gold', IMAGE, 'p1')
        assert spec.scheduler_hints == {'a': ['1', '2']}
        assert spec.flavor.extra_specs == {'x': 'y=z'}
        assert (spec.flavor.swap, spec.flavor.ephemeral_gb) == (64, 2)
        assert (spec.availability_zone, spec.force_hosts,
                spec.ignore_hosts) == ('az2', ['a'], ['b', 'c'])


class TestSpec:
    def test_may_have_a_server_group(self):
        group = spec_of('--group-policy', 'anti-affinity', '--group-max', 2,
                        '--group-member', 'm1', '--group-member', 'm2',
                        '--group-host', 'a').instance_group

        assert (group.policy, group.members, group.hosts, group.rules) == (
            'anti-affinity', ['m1', 'm2'], ['a'], {'max_server_per_host': 2})

    @pytest.mark.parametrize('policy', [
        'affinity', 'anti-affinity', 'soft-affinity', 'soft-anti-affinity'])
    def test_warns_of_unused_hosts_of_a_group(self, caplog, policy):
        spec_of('--group-policy', policy, '--group-host', 'a')

        assert (f'the policy {policy} counts members, not hosts'
                in caplog.text) == (policy != 'affinity')

    def test_may_have_pci_devices(self):
        found = spec_of('--pci', 'vendor_id=8086,product_id=1520,count=2',
                        '--pci', 'vendor_id=10de').pci_requests.requests

        assert [(one.count, one.spec) for one in found] == [
            (2, [{'vendor_id': '8086', 'product_id': '1520'}]),
            (1, [{'vendor_id': '10de'}])]

    def test_may_have_a_destination(self):
        wanted = spec_of('--to-host', 'a', '--to-node', 'n', '--to-cell',
                         'c1').requested_destination

        assert (wanted.host, wanted.node, wanted.cell.uuid) == ('a', 'n', 'c1')

    @pytest.mark.parametrize('name, value, today', [
        ('hypervisor_type', 'xen', 'img_hv_type'),
        ('architecture', 'x86_64', 'hw_architecture'),
        ('hw_disk_bus', 'ide', 'hw_disk_bus'), ('os_distro', 'x', 'os_distro'),
        ('vmware_ostype', 'x', 'os_distro'), ('os_type', 'linux', 'os_type'),
    ])
    def test_takes_names_of_properties_of_any_release(self, name, value,
                                                      today):
        spec = spec_of('--image-property', f'{name}={value}')

        assert spec.image.properties.get(today) == value

    def test_warns_of_properties_that_nova_drops(self, caplog):
        """Images may have any property."""
        spec_of('--image-property', 'hw_archtecture=x86_64',
                '--image-property', 'nonsense=1')

        assert caplog.messages == [
            '--image-property hw_archtecture: Nova does not know this '
            'property and drops it; did you mean hw_architecture?',
            '--image-property nonsense: Nova does not know this property and '
            'drops it']

    @pytest.mark.parametrize('bare, field, value', [
        ({'retry': {'num_attempts': 2, 'hosts': [['a', 'b']]}},
         lambda spec: spec.retry.to_dict(),
         {'num_attempts': 2, 'hosts': [['a', 'b']]}),
        ({'numa_topology': {'cells': [
            {'id': 0, 'cpuset': [], 'pcpuset': [0], 'memory': 512,
             'cpu_policy': 'dedicated', 'pagesize': 2048}]}},
         lambda spec: spec.numa_topology.cells[0].pcpuset, {0}),
        ({'pci_requests': {'requests': [{'count': 3, 'spec': []}]}},
         lambda spec: spec.pci_requests.requests[0].count, 3),
        ({'instance_group': {'policy': 'affinity', 'hosts': ['a']}},
         lambda spec: spec.instance_group.policy, 'affinity'),
        ({'requested_destination': {'cell': {'uuid': 'c1', 'name': 'one'}}},
         lambda spec: spec.requested_destination.cell.uuid, 'c1'),
        ({'image': {'properties': {'hypervisor_type': 'xen'}}},
         lambda spec: spec.image.properties.img_hv_type, 'xen'),
        ({'flavor': {'memory_mb': 5, 'vcpus': 2, 'root_gb': 1,
                     'ephemeral_gb': 0, 'swap': 0}},
         lambda spec: spec.flavor.vcpus, 2),
        ({'num_instances': 3}, lambda spec: spec.flavor.memory_mb, 512),
    ])
    def test_in_a_file_may_be_as_pages_show_it(self, tmp_path, bare, field,
                                               value):
        """Without envelopes; missing fields have the defaults of the options.
        """
        file = tmp_path / 'bare.json'
        file.write_text(json.dumps(bare))

        assert field(spec_of('--spec', file)) == value

    def test_in_a_file_may_be_of_a_caller_that_sends_dicts(self, tmp_path):
        """In the form below RPC 4.3, alone and in a stored decision."""
        call = {'request_spec': {
            'num_instances': 2, 'image': {'id': IMAGE, 'properties': {}},
            'instance_type': {'memory_mb': 5, 'vcpus': 1, 'root_gb': 0,
                              'ephemeral_gb': 0}},
                'filter_properties': {'ignore_hosts': ['fake-0001']}}
        file = tmp_path / 'dicts.json'
        for document in (call, {'request': call}):
            file.write_text(json.dumps(document))

            found = spec_of('--spec', file)
            assert (found.flavor.memory_mb, found.num_instances,
                    found.ignore_hosts) == (5, 2, ['fake-0001'])

    @pytest.mark.parametrize('text, words', [
        ('{"request_spec": {"num_instances": 1}}',
         'request_spec.instance_type: is missing'),
        ('{"flavour": {"vcpus": 99}}',
         r'flavour is not a field of a RequestSpec; did you mean flavor\?'),
        ('{"image": "x"}', 'image = .x.: must be an object')])
    def test_in_a_file_is_refused_with_unknown_parts(
            self, tmp_path, text, words):
        file = tmp_path / 'odd.json'
        file.write_text(text)

        with pytest.raises(exception.InvalidInput, match=words):
            spec_of('--spec', file)

    def test_in_a_file_has_the_cells_of_its_flavor(self, tmp_path):
        file = tmp_path / 'cells.json'
        file.write_text(json.dumps({'flavor': {
            'memory_mb': 512, 'vcpus': 2, 'root_gb': 1, 'ephemeral_gb': 0,
            'extra_specs': {'hw:numa_nodes': '2'}}}))

        cells = spec_of('--spec', file).numa_topology.cells
        assert [cell.cpuset for cell in cells] == [{0}, {1}]
