"""Every captured request becomes a RequestSpec that says what was sent."""

import json

import pytest

from nova_sched import objects
from nova_sched.objects import base
from nova_sched.objects import spec_dicts
from tests.unit.objects import captures

SPECS = captures.with_argument('spec_obj')
DICTS = captures.with_argument('request_spec')
#: Calls that were captured because they are malformed.
MALFORMED = {name for name in DICTS + SPECS
             if name.endswith(('err-bad-args', 'err-no-args',
                              'err-version-3-0'))}
_PLAIN = ('project_id', 'user_id', 'availability_zone', 'num_instances',
          'ignore_hosts', 'force_hosts', 'force_nodes', 'instance_uuid',
          'is_bfv')
_SIZES = ('memory_mb', 'vcpus', 'root_gb', 'ephemeral_gb', 'swap')


def test_captures_of_both_eras_and_forms_are_there():
    """The lists below are not empty by accident."""
    assert len(SPECS) > 40
    assert {'34-kilo-style-call', 'queens-kilo-style-call'} <= set(DICTS)
    assert len(DICTS) >= 8


@pytest.mark.parametrize('name', SPECS)
class TestSpecObj:

    def test_plain_values_are_those_of_the_message(self, name):
        """Plain fields and the flavor's sizes read as they were sent."""
        sent = captures.args(name)['spec_obj']
        data = sent['nova_object.data']
        flavor = data['flavor']['nova_object.data']

        spec = objects.arguments.from_wire(sent)

        assert spec.wire_version == sent['nova_object.version']
        assert {n: data[n] for n in _PLAIN if n in data} == {
            n: getattr(spec, n) for n in _PLAIN if n in data}
        assert {n: flavor[n] for n in _SIZES} == {
            n: getattr(spec, n) for n in _SIZES}
        assert spec.flavor.extra_specs == flavor['extra_specs']
        assert spec.scheduler_hints == data['scheduler_hints']

    def test_nothing_is_lost(self, name):
        """Written out again it has the same fields with the same values."""
        sent = captures.args(name)['spec_obj']

        spec = objects.arguments.from_wire(sent)

        assert set(sent['nova_object.data']) <= set(
            spec.obj_to_primitive()['nova_object.data'])
        for part in ('Flavor', 'ImageMeta', 'Destination', 'SchedulerRetries',
                     'RequestGroup', 'InstancePCIRequest', 'CellMapping'):
            for envelope in captures.envelopes(sent, part):
                made = base.NovaObject.obj_from_primitive(envelope)
                written = captures.without_changes(
                    made.obj_to_primitive())['nova_object.data']
                assert _data(envelope) == _data({'nova_object.data': written})


def _data(envelope):
    """Data of an envelope, nested envelopes reduced to their data."""
    def reduce(value):
        if isinstance(value, dict):
            if 'nova_object.data' in value:
                return reduce(value['nova_object.data'])
            return {key: reduce(part) for key, part in value.items()}
        return [reduce(p) for p in value] if isinstance(value, list) else value
    return captures.without_changes(reduce(envelope))


@pytest.mark.parametrize('name', [n for n in DICTS if n not in MALFORMED])
def test_legacy_dicts_become_the_same_request(name):
    """Both producers' dicts give flavor, image, instance and hints."""
    args = captures.args(name)
    sent, properties = args['request_spec'], args['filter_properties']
    instance = sent['instance_properties']

    spec = objects.arguments.from_legacy_dicts(sent, properties)

    assert spec.instance_uuid == instance['uuid']
    assert spec.project_id == instance['project_id']
    assert spec.memory_mb == instance['memory_mb']
    assert spec.vcpus == instance['vcpus']
    assert spec.root_gb == instance['root_gb']
    assert spec.num_instances == sent['num_instances']
    assert spec.image.id == sent['image']['id']
    assert spec.image.min_disk == int(sent['image']['min_disk'])
    assert spec.wire_version == (
        '1.13' if name == '34-cap-4-2-legacy-dicts-numa-pci' else '1.0')
    assert spec.requested_destination is None
    assert spec.limits.to_dict() == {}
    for hint, value in properties.get('scheduler_hints', {}).items():
        assert spec.scheduler_hints[hint] == (
            value if isinstance(value, list) else [value])


@pytest.mark.parametrize('era', ['queens', '34'])
class TestLegacyParts:

    def test_group_keys_become_a_group(self, era):
        """The group_* keys give policy, hosts and members."""
        args = captures.args(f'{era}-cap-4-2-legacy-dicts-group')

        group = objects.arguments.from_legacy_dicts(**args).instance_group

        assert group.policy == 'anti-affinity'
        assert group.policies == ['anti-affinity']
        assert group.hosts == args['filter_properties']['group_hosts']
        assert group.members == args['filter_properties']['group_members']
        assert group.rules == {}
        assert group.wire_version == '1.9'

    def test_numa_and_pci_envelopes_are_read(self, era):
        """A capped client's nested envelopes are read."""
        spec = objects.arguments.from_legacy_dicts(
            **captures.args(f'{era}-cap-4-2-legacy-dicts-numa-pci'))

        assert spec.numa_topology.cells[0].cpuset == {0, 1, 2, 3}
        assert spec.numa_topology.cells[0].pcpuset == set()
        assert spec.pci_requests.requests[0].alias_name == 'nicpf'
        assert spec.pci_requests.requests[0].spec[0]['vendor_id'] == '8086'

    def test_a_pinned_cell_means_the_same_in_both_eras(self, era):
        """Pinned CPUs are in pcpuset, wherever the sender had them."""
        cell = objects.arguments.from_wire(
            captures.args(f'{era}-numa-pinned-hugepages')['spec_obj']
        ).numa_topology.cells[0]

        assert cell.pcpuset and not cell.cpuset
        assert cell.cpu_policy == 'dedicated'
        assert cell.pagesize == 2048

    def test_a_group_has_policy_and_policies(self, era):
        """Queens sends policies only, later releases both."""
        group = objects.arguments.from_wire(
            captures.args(f'{era}-server-group-affinity')['spec_obj']
        ).instance_group

        assert (group.policy, group.policies) == ('affinity', ['affinity'])

    def test_retry_lists_host_and_node(self, era):
        """The hosts tried are readable in the dict form as well."""
        spec = objects.arguments.from_wire(
            captures.args(f'{era}-retry')['spec_obj'])

        (host, node), = spec.retry.to_dict()['hosts']
        assert node == f'{host}.example.org'

    def test_aggregate_casts_are_read(self, era):
        """Aggregates come with hosts, metadata and zone."""
        sent = captures.args(f'{era}-info-update-aggregates')['aggregates']

        found = objects.aggregates_from_wire(sent)

        assert found[0].hosts and found[0].uuid
        assert found[0].availability_zone == found[0].metadata.get(
            'availability_zone')

    def test_instance_casts_are_read(self, era):
        """Instances come with uuid, host and sizes."""
        sent = captures.args(f'{era}-info-update-instance-info')

        found = objects.InstanceList.from_envelope(
            sent['instance_info']).objects

        assert len(found) == 2
        for instance in found:
            assert instance.uuid and instance.host
            assert instance.memory_mb == instance.flavor.memory_mb


@pytest.mark.parametrize('name', captures.names_where(
    lambda m: m['method'] == 'select_destinations'))
def test_a_reply_of_selections_survives_reading_and_writing(name):
    """Selections of a captured reply are written for that caller as then."""
    caller = '1.15' if name.startswith('34-') else '1.8'
    for envelope in captures.envelopes(captures.replies(name), 'Selection'):
        selection = objects.Selection.obj_from_primitive(envelope)

        written = objects.selection.to_wire([[selection]], caller)

        assert [[captures.without_changes(envelope)]] == written


@pytest.mark.parametrize('name', captures.names_where(
    lambda m: m['method'] == 'select_destinations'
    and not m['args'].get('return_objects')))
def test_limits_of_a_dict_reply_survive_reading_and_writing(name):
    """A dict reply carries the limits it carried, NUMA limits as 1.0."""
    for result in captures.replies(name):
        for sent in result:
            selection = objects.Selection(
                service_host=sent['host'], nodename=sent['nodename'],
                limits=objects.SchedulerLimits.from_dict(sent['limits']))

            written, = objects.selection.to_dicts([selection], '1.0')

            expected = captures.without_changes(sent)
            for numa in captures.envelopes(expected, 'NUMATopologyLimits'):
                numa['nova_object.version'] = '1.0'
            assert expected == written


@pytest.mark.parametrize('name', captures.names_where(
    lambda m: m['method'] == 'select_destinations'
    and isinstance(m['args'].get('request_spec'), dict)
    and m['args']['request_spec'].get('instance_type', {}).get(
        'nova_object.name')))
def test_the_dict_form_is_written_as_real_clients_do(name):
    """A capped client's dicts are read and written as the same dicts."""
    sent = captures.without_changes(captures.args(name))
    instance = sent['request_spec']['instance_properties']
    instance.setdefault('user_id', None)

    spec = objects.arguments.from_legacy_dicts(**sent)

    written = captures.without_changes(spec_dicts.to_request_spec_dict(spec))
    for cell in captures.envelopes(instance, 'InstanceNUMACell'):
        cell['nova_object.data'].setdefault('pcpuset', [])
    # Queens' objects are written in today's versions.
    for name_ in ('InstanceNUMACell', 'InstancePCIRequest'):
        for value in (sent, written):
            for envelope in captures.envelopes(value, name_):
                del envelope['nova_object.version']
    assert written == sent['request_spec']
    assert spec_dicts.to_filter_properties_dict(spec) == (
        sent['filter_properties'])


@pytest.mark.parametrize('name', SPECS)
def test_any_request_can_be_written_in_dict_form(name):
    """It is plain JSON, and read again asks for the same."""
    spec = objects.arguments.from_wire(captures.args(name)['spec_obj'])

    dicts = json.loads(json.dumps([
        spec_dicts.to_request_spec_dict(spec),
        spec_dicts.to_filter_properties_dict(spec)]))
    again = objects.arguments.from_legacy_dicts(*dicts)

    for field in ('memory_mb', 'vcpus', 'project_id', 'instance_uuid',
                  'availability_zone'):
        assert getattr(again, field) == getattr(spec, field)
    for field in ('force_hosts', 'ignore_hosts', 'scheduler_hints'):
        assert (getattr(again, field) or None) == (
            getattr(spec, field) or None)
    assert (again.retry is None) == (spec.retry is None)
    assert (again.instance_group is None) == (spec.instance_group is None)
