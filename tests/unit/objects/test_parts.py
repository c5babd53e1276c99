"""Parts of a request: image properties, NUMA cells, groups, hints."""

import pytest

from nova_sched import objects
from nova_sched.objects import glance_image
from nova_sched.objects.fields import MalformedError
from tests.builders import requests
from tests.builders.case_tables import case_table


def cell(data, version):
    """An InstanceNUMACell as read from the wire."""
    return objects.InstanceNUMACell.from_envelope({
        'nova_object.name': 'InstanceNUMACell',
        'nova_object.namespace': 'nova', 'nova_object.version': version,
        'nova_object.data': {'id': 0, 'memory': 1, **data}})


class TestImageProperties:

    @case_table('objects-parts', 'canonical')
    def test_value_is_canonical(self, name, value, expected):
        """Names in lower case and current spelling, numbers as numbers."""
        image = requests.an_image({name: value})

        assert image.properties.get(name) == expected
        assert getattr(image.properties, name) == expected

    @pytest.mark.parametrize('name, value', [
        ('hw_architecture', 'z80'), ('img_hv_type', 'abacus'),
        ('hw_vm_mode', 'x'), ('hw_cpu_policy', 'mine'),
        ('img_hv_requested_version', '6'), ('img_hv_requested_version', '~6'),
        ('hw_maxphysaddr_bits', 'many'), ('hw_numa_nodes', -1)])
    def test_invalid_value_is_refused_with_its_name(self, name, value):
        with pytest.raises(ValueError, match=f'^{name} = '):
            requests.an_image({name: value})

    def test_any_property_is_readable(self):
        props = requests.an_image({'mine': 5, 'os_distro': 'x'}).properties

        assert (props.get('mine'), props.os_distro, props.flat()) == (
            5, 'x', {'mine': 5, 'os_distro': 'x'})
        assert 'mine' in props

    def test_unset_property_is_none(self):
        props = requests.an_image().properties

        assert props.hw_architecture is None
        assert props.hw_never_heard_of is None
        assert props.get('hw_disk_bus') is None
        assert props.get('hw_disk_bus', 'virtio') == 'virtio'
        assert 'hw_disk_bus' not in props

    def test_request_without_image_has_no_properties(self):
        assert requests.a_request(image=None).image_properties.flat() == {}
        assert requests.a_request(image_properties={
            'a': 1}).image_properties.flat() == {'a': 1}


class TestGlanceImages:

    @staticmethod
    def properties(**given):
        return glance_image.image_from_dict({'properties': given}).properties

    @pytest.mark.parametrize('old, current', sorted(
        glance_image.OLD_NAMES.items()))
    def test_old_name_is_replaced(self, old, current):
        value = {'architecture': 'i386', 'hypervisor_type': 'xapi',
                 'vm_mode': 'pv',
                 'hypervisor_version_requires': '>=6.0'}.get(old, '1')

        assert self.properties(**{old: value}).get(current)

    def test_current_name_takes_precedence(self):
        assert self.properties(
            architecture='i686', hw_architecture='x86_64'
        ).hw_architecture == 'x86_64'

    def test_numbered_properties_are_a_list_up_to_a_gap(self):
        made = self.properties(**{
            'hw_numa_cpus.1': '4-5,^4', 'hw_numa_cpus.0': '0-2',
            'hw_numa_mem.0': '512', 'hw_numa_mem.2': '1'})

        assert made.hw_numa_cpus == [{0, 1, 2}, {5}]
        assert made.hw_numa_mem == [512]

    @pytest.mark.parametrize('adapter, expected', [
        ('ide', {'hw_disk_bus': 'ide'}),
        ('lsiLogic', {'hw_disk_bus': 'scsi', 'hw_scsi_model': 'lsilogic'})])
    def test_vmware_adapter_is_bus_and_model(self, adapter, expected):
        assert self.properties(vmware_adaptertype=adapter).flat() == expected

    @case_table('objects-parts', 'texts')
    def test_text_has_the_same_value_as_in_nova(self, name, text, value):
        """From Queens to 2026.2."""
        found = self.properties(**{name: text}).get(name)

        assert (found, type(found)) == (value, type(value))

    @pytest.mark.parametrize('name, text', [
        ('hw_video_ram', '12abc'), ('hw_cpu_cores', ''),
        ('img_version', '1.5'), ('os_type', 'plan9'),
        ('hw_boot_menu', ['true'])])
    def test_invalid_text_is_refused_with_its_name(self, name, text):
        with pytest.raises(MalformedError, match=f'properties.{name} = '):
            self.properties(**{name: text})

    def test_required_traits_are_a_list(self):
        assert self.properties(**{
            'trait:A': 'required', 'trait:B': 'maybe'}).traits_required == [
                'A']

    def test_numbers_of_image_may_be_text(self):
        """Kilo's conductors pass Glance's answer on."""
        image = glance_image.image_from_dict({
            'id': 'i', 'min_ram': '0', 'min_disk': '20', 'size': '16300544'})

        assert (image.min_ram, image.min_disk) == (0, 20)
        assert image.properties.flat() == {}


class TestNuma:

    @pytest.mark.parametrize('version', ['1.2', '1.3', '1.4'])
    def test_dedicated_cpus_before_1_5_move_to_pcpuset(self, version):
        made = cell({'cpuset': [0, 1], 'cpu_policy': 'dedicated'}, version)

        assert (made.cpuset, made.pcpuset) == (set(), {0, 1})

    @pytest.mark.parametrize('policy', [None, 'shared'])
    def test_floating_cpus_before_1_5_stay_in_cpuset(self, policy):
        made = cell({'cpuset': [0, 1], 'cpu_policy': policy}, '1.4')

        assert (made.cpuset, made.pcpuset) == ({0, 1}, set())

    @pytest.mark.parametrize('version', ['1.4', '1.5', '1.6'])
    def test_pcpuset_in_any_version_is_kept(self, version):
        made = cell({'cpuset': [], 'pcpuset': [3],
                     'cpu_policy': 'dedicated'}, version)

        assert (made.cpuset, made.pcpuset) == (set(), {3})

    def test_total_cpus_are_floating_and_pinned_cpus(self):
        numa_cell = cell({'cpuset': [0, 1], 'pcpuset': [3]}, '1.6')

        assert (numa_cell.total_cpus, len(numa_cell)) == ({0, 1, 3}, 3)

    def test_empty_cell_and_topology_are_true(self):
        assert objects.InstanceNUMACell(id=0)
        assert objects.InstanceNUMATopology()
        assert len(objects.InstanceNUMATopology(
            cells=[objects.InstanceNUMACell(id=0)])) == 1

    def test_dedicated_cpus_are_written_to_cpuset_before_1_5(self):
        made = cell({'pcpuset': [3], 'cpu_policy': 'dedicated'}, '1.6')

        data = made.obj_to_primitive('1.4')['nova_object.data']

        assert data['cpuset'] == [3]
        assert 'pcpuset' not in data

    def test_mixed_cell_cannot_be_written_before_1_5(self):
        made = cell({'pcpuset': [3], 'cpu_policy': 'mixed'}, '1.6')

        with pytest.raises(ValueError, match='mixed'):
            made.obj_to_primitive('1.4')


class TestGroups:

    @pytest.mark.parametrize('given, policy', [
        ({'policies': ['affinity']}, 'affinity'),
        ({'policy': 'affinity'}, 'affinity'),
        ({'policy': 'affinity', 'policies': ['affinity']}, 'affinity'),
        ({'policy': None, 'policies': ['soft-affinity']}, 'soft-affinity'),
        ({}, None), ({'policies': []}, None)])
    def test_policy_and_policies_agree(self, given, policy):
        group = objects.InstanceGroup.from_data(given, '1.10')

        assert group.policy == policy
        assert group.policies == ([policy] if policy else [])

    @pytest.mark.parametrize('most', [0, '3', '-1', ' 5 '])
    def test_rule_is_an_integer(self, most):
        assert requests.a_group(rules={'max_server_per_host': most}).rules == {
                'max_server_per_host': int(most)}
        assert requests.a_group().rules == {}

    @pytest.mark.parametrize('most', ['few', '1.5', ''])
    def test_invalid_rule_fails_when_it_is_read(self, most):
        """Only some policies use the rules."""
        group = requests.a_group(rules={'max_server_per_host': most})

        with pytest.raises(ValueError, match='invalid literal'):
            group.rules  # noqa: B018 - the property raises

    def test_rule_of_another_type_is_refused(self):
        with pytest.raises(ValueError, match='max_server_per_host'):
            requests.a_group(rules={'max_server_per_host': [1]})

    @pytest.mark.parametrize('given, version, by_host', [
        ({'policies': ['anti-affinity']}, '1.9', True),
        ({'policies': ['anti-affinity']}, '1.10', True),
        ({'policies': ['anti-affinity']}, '1.11', True),
        ({'policies': ['anti-affinity'], 'policy': None}, '1.11', True),
        ({'policies': ['anti-affinity'], 'policy': 'anti-affinity'}, '1.11',
         False),
        ({'policy': 'anti-affinity'}, '1.11', False)])
    def test_group_before_rocky_counts_by_host(self, given, version, by_host):
        """Also after the group is written and read again."""
        group = objects.InstanceGroup.from_data(
            {**given, 'hosts': ['a']}, version)
        passed_on = objects.InstanceGroup.from_envelope(
            group.obj_to_primitive())

        assert group.counts_by_host is passed_on.counts_by_host is by_host
        assert (passed_on.policy, passed_on.hosts) == ('anti-affinity', ['a'])


@pytest.mark.parametrize('hints, expected', [
    (None, 'd'), ({}, 'd'), ({'h': 'x'}, 'x'), ({'h': ['x']}, 'x'),
    ({'h': ['x', 'y']}, ['x', 'y']), ({'h': []}, [])])
def test_hint_is_a_single_value_or_a_list(hints, expected):
    spec = objects.RequestSpec(scheduler_hints=hints)

    assert spec.get_scheduler_hint('h', 'd') == expected
