"""Parts of a request: image properties, NUMA, PCI, groups, hints."""

import json

import pytest

from nova_sched import objects
from nova_sched.compat.legacy import image as image_legacy
from nova_sched.compat.legacy import numa as numa_legacy
from nova_sched.objects import pci
from nova_sched.objects.fields import MalformedError
from tests.builders import requests


def cell(data, version):
    """An InstanceNUMACell as read from the wire."""
    return objects.InstanceNUMACell.from_envelope({
        'nova_object.name': 'InstanceNUMACell',
        'nova_object.namespace': 'nova', 'nova_object.version': version,
        'nova_object.data': {'id': 0, 'memory': 1, **data}})


class TestImageProperties:

    @pytest.mark.parametrize('name, value, expected', [
        ('hw_architecture', 'AMD64', 'x86_64'),
        ('hw_architecture', 'i386', 'i686'),
        ('hw_architecture', 'ppc64le', 'ppc64le'),
        ('img_hv_type', 'xapi', 'xen'), ('img_hv_type', 'KVM', 'kvm'),
        ('hw_vm_mode', 'pv', 'xen'), ('hw_vm_mode', 'hv', 'hvm'),
        ('hw_vm_mode', 'baremetal', 'hvm'),
        ('hw_firmware_stateless', 'yes', True),
        ('hw_maxphysaddr_bits', '42', 42),
        ('img_hv_requested_version', '>= 3.0.0, < 8.2.3', '>= 3.0.0, < 8.2.3'),
        ('img_hv_requested_version', '>=9', '>=9')])
    def test_values_are_made_canonical(self, name, value, expected):
        """Names in lower case and today's spelling, numbers as numbers."""
        image = requests.an_image({name: value})

        assert image.properties.get(name) == expected
        assert getattr(image.properties, name) == expected

    @pytest.mark.parametrize('name, value', [
        ('hw_architecture', 'z80'), ('img_hv_type', 'abacus'),
        ('hw_vm_mode', 'x'), ('hw_cpu_policy', 'mine'),
        ('img_hv_requested_version', '6'), ('img_hv_requested_version', '~6'),
        ('hw_maxphysaddr_bits', 'many'), ('hw_numa_nodes', -1)])
    def test_wrong_values_are_refused(self, name, value):
        """The error names property and value."""
        with pytest.raises(ValueError, match=f'^{name} = '):
            requests.an_image({name: value})

    def test_other_properties_stay_readable(self):
        """Rules and plug-ins may ask for any name."""
        props = requests.an_image({'mine': 5, 'os_distro': 'x'}).properties

        assert props.get('mine') == 5
        assert props.os_distro == 'x'
        assert props.flat() == {'mine': 5, 'os_distro': 'x'}
        assert 'mine' in props

    def test_unset_properties_read_as_none(self):
        """Known or not, as attribute or through get."""
        props = requests.an_image().properties

        assert props.hw_architecture is None
        assert props.hw_never_heard_of is None
        assert props.get('hw_disk_bus') is None
        assert props.get('hw_disk_bus', 'virtio') == 'virtio'
        assert 'hw_disk_bus' not in props

    def test_a_request_without_image_has_no_properties(self):
        """image_properties can be asked either way."""
        assert requests.a_request(image=None).image_properties.flat() == {}
        assert requests.a_request(image_properties={
            'a': 1}).image_properties.flat() == {'a': 1}


class TestGlanceImages:

    @staticmethod
    def properties(**given):
        return image_legacy.image_from_dict({
            'properties': given}).properties

    @pytest.mark.parametrize('old, now', sorted(
        image_legacy.OLD_NAMES.items()))
    def test_old_names_are_today_s(self, old, now):
        """Each old name gives the property of today."""
        value = {'architecture': 'i386', 'hypervisor_type': 'xapi',
                 'vm_mode': 'pv',
                 'hypervisor_version_requires': '>=6.0'}.get(old, '1')

        assert self.properties(**{old: value}).get(now)

    def test_today_s_name_wins(self):
        """Given both, the newer spelling counts."""
        assert self.properties(
            architecture='i686', hw_architecture='x86_64'
        ).hw_architecture == 'x86_64'

    def test_numbered_properties_become_lists(self):
        """Up to the first gap."""
        made = self.properties(**{
            'hw_numa_cpus.1': '4-5,^4', 'hw_numa_cpus.0': '0-2',
            'hw_numa_mem.0': '512', 'hw_numa_mem.2': '1'})

        assert made.hw_numa_cpus == [{0, 1, 2}, {5}]
        assert made.hw_numa_mem == [512]

    @pytest.mark.parametrize('adapter, expected', [
        ('ide', {'hw_disk_bus': 'ide'}),
        ('lsiLogic', {'hw_disk_bus': 'scsi', 'hw_scsi_model': 'lsilogic'})])
    def test_vmware_adapters_become_buses(self, adapter, expected):
        """IDE is a bus of its own, everything else a SCSI model."""
        assert self.properties(
            vmware_adaptertype=adapter).flat() == expected

    @pytest.mark.parametrize('name, text, value', [
        ('hw_qemu_guest_agent', 'true', True),
        ('hw_vif_multiqueue_enabled', 'false', False),
        ('hw_boot_menu', ' YES ', True), ('hw_boot_menu', 'maybe', False),
        ('hw_boot_menu', '2', False), ('hw_pmu', '1', True),
        ('hw_mem_encryption', 'maybe', False), ('hw_time_hpet', True, True),
        ('img_hide_hypervisor_id', 'yes', True), ('img_bdm_v2', '', False),
        ('hw_video_ram', '0', 0), ('hw_video_ram', ' 64 ', 64),
        ('hw_serial_port_count', '-1', -1), ('hw_cpu_sockets', '2', 2),
        ('hw_device_id', '2', 2), ('img_version', '1', 1),
        ('os_type', 'Linux', 'linux'), ('hw_scsi_model', 'VIRTIO-SCSI',
                                        'virtio-scsi'),
        ('hw_scsi_model', 'lsiLogicsas', 'lsisas1068'),
        ('hw_vif_model', 'VirtualE1000', 'e1000'),
        ('hw_machine_type', 'Q35', 'Q35'), ('os_distro', '5', '5')])
    def test_text_is_the_value_that_nova_reads_of_it(self, name, text, value):
        """Of Queens as of today: their types are the same."""
        found = self.properties(**{name: text}).get(name)

        assert (found, type(found)) == (value, type(value))

    @pytest.mark.parametrize('name, text', [
        ('hw_video_ram', '12abc'), ('hw_cpu_cores', ''),
        ('img_version', '1.5'), ('os_type', 'plan9'),
        ('hw_boot_menu', ['true'])])
    def test_text_that_nova_cannot_read_is_named(self, name, text):
        with pytest.raises(MalformedError, match=f'properties.{name} = '):
            self.properties(**{name: text})

    def test_traits_are_collected(self):
        """Only those that are required."""
        assert self.properties(**{
            'trait:A': 'required', 'trait:B': 'maybe'}).traits_required == [
                'A']

    def test_numbers_may_be_text(self):
        """Kilo's conductors pass on what Glance said."""
        image = image_legacy.image_from_dict({
            'id': 'i', 'min_ram': '0', 'min_disk': '20', 'size': '16300544'})

        assert (image.min_ram, image.min_disk) == (0, 20)
        assert image.properties.flat() == {}


class TestNuma:

    @pytest.mark.parametrize('version', ['1.2', '1.3', '1.4'])
    def test_pinned_cpus_of_old_senders_move(self, version):
        """Before 1.5, dedicated CPUs came in cpuset."""
        made = cell({'cpuset': [0, 1], 'cpu_policy': 'dedicated'}, version)

        assert (made.cpuset, made.pcpuset) == (set(), {0, 1})

    @pytest.mark.parametrize('policy', [None, 'shared'])
    def test_floating_cpus_of_old_senders_stay(self, policy):
        """Nothing is pinned then."""
        made = cell({'cpuset': [0, 1], 'cpu_policy': policy}, '1.4')

        assert (made.cpuset, made.pcpuset) == ({0, 1}, set())

    @pytest.mark.parametrize('version', ['1.4', '1.5', '1.6'])
    def test_pcpuset_is_kept_when_it_was_sent(self, version):
        """Whatever version the sender claims."""
        made = cell({'cpuset': [], 'pcpuset': [3],
                     'cpu_policy': 'dedicated'}, version)

        assert (made.cpuset, made.pcpuset) == (set(), {3})

    def test_floating_and_pinned_cpus_are_the_cells_cpus_together(self):
        made = cell({'cpuset': [0, 1], 'pcpuset': [3]}, '1.6')

        assert made.total_cpus == {0, 1, 3}
        assert len(made) == 3

    def test_old_readers_get_the_old_meaning(self):
        """Written as 1.4 the pinned CPUs are in cpuset again."""
        made = cell({'pcpuset': [3], 'cpu_policy': 'dedicated'}, '1.6')

        data = made.obj_to_primitive('1.4')['nova_object.data']

        assert data['cpuset'] == [3]
        assert 'pcpuset' not in data

    def test_mixed_cells_cannot_be_written_for_old_readers(self):
        """There is no way to say it."""
        made = cell({'pcpuset': [3], 'cpu_policy': 'mixed'}, '1.6')

        with pytest.raises(ValueError, match='mixed'):
            made.obj_to_primitive('1.4')

    FLAT = {'instance_uuid': 'u', 'cells': [{
        'id': 1, 'cpuset': [0, 1], 'memory': 512, 'pagesize': None,
        'cpu_topology': {'sockets': 1, 'cores': 2, 'threads': 1},
        'cpu_pinning_raw': {'0': 4}}]}
    OLDEST = {'cells': [{'id': 1, 'cpus': '0-1', 'mem': {'total': 512}}]}
    ENVELOPE = objects.InstanceNUMATopology(cells=[
        objects.InstanceNUMACell(id=1, cpuset={0, 1}, memory=512)
    ]).obj_to_primitive()

    @pytest.mark.parametrize('form', [
        FLAT, OLDEST, ENVELOPE, json.dumps(FLAT), json.dumps(OLDEST),
        json.dumps(ENVELOPE)])
    def test_topologies_come_in_many_forms(self, form):
        """Envelope, flat dict or the oldest spelling, also as JSON text."""
        made = numa_legacy.topology_from_any(form)

        assert [(c.id, c.cpuset, c.memory) for c in made.cells] == [
            (1, {0, 1}, 512)]

    @pytest.mark.parametrize('form', [None, 'null'])
    def test_no_topology_is_none(self, form):
        """Null stays null, also as text."""
        assert numa_legacy.topology_from_any(form) is None

    @pytest.mark.parametrize('form', [
        5, [], '{', '[]', {}, {'cells': 3}, {'cells': [3]},
        {'cells': [{'cpus': '0-99999999999'}]},
        {'cells': [{'cpus': 'a'}]}, {'cells': [{'cpus': '-1'}]}])
    def test_other_forms_are_refused(self, form):
        """Including ranges that would fill the memory."""
        with pytest.raises(ValueError):
            numa_legacy.topology_from_any(form)


class TestPci:

    REQUEST = {'count': 1, 'spec': [{'vendor_id': '8086',
                                     'physical_network': None}],
               'alias_name': None, 'is_new': False, 'request_id': 'r'}

    @pytest.mark.parametrize('form', [
        [REQUEST], {'requests': [REQUEST]}, json.dumps([REQUEST]),
        objects.InstancePCIRequests(requests=[objects.InstancePCIRequest(
            **REQUEST)]).obj_to_primitive()])
    def test_requests_come_in_many_forms(self, form):
        """A plain list, a flat dict, text or an envelope."""
        made = pci.requests_from_any(form)

        assert made.requests[0].count == 1
        assert made.requests[0].spec == self.REQUEST['spec']
        assert made.requests[0].numa_policy is None

    def test_unset_fields_are_null(self):
        """Every field of a PCI request may be unset."""
        request = objects.InstancePCIRequest()

        assert request.alias_name is None
        assert request.requester_id is None


class TestGroups:

    @pytest.mark.parametrize('given, policy', [
        ({'policies': ['affinity']}, 'affinity'),
        ({'policy': 'affinity'}, 'affinity'),
        ({'policy': 'affinity', 'policies': ['affinity']}, 'affinity'),
        ({'policy': None, 'policies': ['soft-affinity']}, 'soft-affinity'),
        ({}, None), ({'policies': []}, None)])
    def test_policy_and_policies_agree(self, given, policy):
        """Whichever of them the sender set."""
        group = objects.InstanceGroup.from_data(given, '1.10')

        assert group.policy == policy
        assert group.policies == ([policy] if policy else [])

    def test_rules_are_numbers(self):
        """They travel as text."""
        assert requests.a_group(
            rules={'max_server_per_host': '3'}).rules == {
                'max_server_per_host': 3}
        assert requests.a_group().rules == {}

    @pytest.mark.parametrize('most', [0, '-1', ' 5 '])
    def test_rules_may_be_any_integer(self, most):
        """What it means is for the filter to say."""
        assert requests.a_group(
            rules={'max_server_per_host': most}).rules == {
                'max_server_per_host': int(most)}

    @pytest.mark.parametrize('most', ['few', '1.5', ''])
    def test_a_rule_that_is_no_integer_fails_who_reads_it(self, most):
        """Not the request: only some policies look at rules."""
        group = requests.a_group(rules={'max_server_per_host': most})

        with pytest.raises(ValueError, match='invalid literal'):
            group.rules  # noqa: B018 - reading it is what is tested

    def test_a_rule_that_is_no_text_is_refused(self):
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
    def test_groups_without_a_policy_of_their_own_count_by_host(
            self, given, version, by_host):
        """Such groups are of before Rocky, also for who reads them next."""
        group = objects.InstanceGroup.from_data(
            {**given, 'hosts': ['a']}, version)
        passed_on = objects.InstanceGroup.from_envelope(
            group.obj_to_primitive())

        assert group.counts_by_host is passed_on.counts_by_host is by_host
        assert (passed_on.policy, passed_on.hosts) == ('anti-affinity', ['a'])


@pytest.mark.parametrize('hints, expected', [
    (None, 'd'), ({}, 'd'), ({'h': 'x'}, 'x'), ({'h': ['x']}, 'x'),
    ({'h': ['x', 'y']}, ['x', 'y']), ({'h': []}, [])])
def test_a_hint_is_its_only_value_or_the_list(hints, expected):
    """Missing hints give the default."""
    spec = objects.RequestSpec(scheduler_hints=hints)

    assert spec.get_scheduler_hint('h', 'd') == expected
